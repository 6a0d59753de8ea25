package rpc

import "runtime/debug"

// Version is the version of this build, or "dev". Release builds set it with -ldflags "-X
// github.com/magicctx/magicctx-host/rpc.Version=1.2.3".
var Version string

// init sets the version of a development build. The declaration of Version cannot do this: the linker can set a
// variable only if its declaration does not call a function.
func init() {
	if Version == "" {
		Version = buildVersion()
	}
}

func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}
