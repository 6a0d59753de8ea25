package config

import "os"

// Candidates returns the files that Load looks for. At each level, the first existing file hides the others.
func Candidates(o Options) (user, project []string) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	l := newLoader(o.Env)
	if o.Directory != "" {
		project = projectFiles(o.Harness, o.Directory)
	}
	return l.userFiles(o.Harness), project
}
