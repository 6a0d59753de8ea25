package config

import "os"

// Candidates returns the paths at which Load looks for the user's file, and the paths at which it looks for the
// project's file. Load reads only the first file of each list that exists.
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
