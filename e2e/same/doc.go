// Command same compares the wires that two versions of this repository send. It replays every committed trace
// in every mode for every provider profile with both versions, and compares verdict, cause and bytes of each wire. It
// also compares the stories and the other goldens of the pipeline.
//
//	go run ./e2e/same -with HEAD~10
//
// The other version must have replay.Options.Watch, which came with the judge. The command exits with 1
// if a wire differs.
//
// It may import every package of this module.
package main
