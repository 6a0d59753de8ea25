// Package e2e tests the product as a user has it: the real OpenCode, with the
// bundled shim as its plugin, the real host process, and a scripted model. What
// is asserted is what the model's provider received.
//
// The tests need node_modules (npm ci). Without them they are skipped, except
// where CI=true; go test -short skips them as well.
package e2e
