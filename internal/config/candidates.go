package config

import "os"

// Candidates returns the files that Load looks for, of the user and of the project. In each of the two lists, Load
// reads only the first file that exists.
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
