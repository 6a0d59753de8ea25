// Command same compares the wires of two versions of this repository. With both versions, it replays every committed
// trace in every mode and for every provider profile, and compares verdict, cause and bytes of each wire. It also
// compares the stories and the other golden files of the pipeline.
//
//	go run ./e2e/same -with HEAD~10
//
// The other version must have replay.Options.Watch. If a wire differs, the exit code is 1.
//
// It may import every package of this module.
package main
