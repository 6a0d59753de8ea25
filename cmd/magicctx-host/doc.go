// Command magicctx-host keeps sessions of coding agents alive: it rewrites their message arrays so that
// the prompt fits the model's window and the cached prefix stays valid. Harness plugins start it and
// talk to it. People use its subcommands, for example status and replay.
//
// It wires: flags, logger, wiring, exit codes. It may import every package of
// this module except pipeline, e2e and the generators.
package main
