package config

import "os"

// Candidates returns the paths at which Load looks for the user's file, and those for the project's file. Of each list,
// Load reads only the first file that exists.
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
