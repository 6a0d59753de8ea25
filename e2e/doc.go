// Package e2e tests the product as a user runs it: the real OpenCode or the real Pi, with the bundled shim
// as its plugin, the real host process, and a scripted model. The tests assert on the requests that reach the
// model's provider.
//
// The tests need node_modules (npm ci). Without it they are skipped, except if CI=true. go test -short
// skips them as well.
//
// A scenario that both harnesses can have is written once, for an agent.Agent. pi_test.go lists the scenarios
// that Pi plays, and pi_session_test.go has the scenarios that only Pi can have.
//
// It may import every package of this module.
package e2e
