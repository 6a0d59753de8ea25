// Command magicctx-host is the program: flags, logger, wiring, exit codes. The shims start it and talk to it.
// People use its subcommands, for example status and replay.
//
// It may import every package of this module except pipeline and e2e.
package main
