// Package fault tests the user's experience when the host is in trouble. The real OpenCode with the bundled
// shim uses a host that is missing, hangs, crashes, or cannot use its store. The tests assert for each fault:
//   - The provider receives the right prompt without a long wait.
//   - The user gets exactly one notice.
//   - The commands status and doctor report the fault.
//   - After the end of the fault, the next pass works as usual in the same OpenCode process.
//
// Like the tests of e2e, these tests need node_modules.
//
// It may import e2e/agent, e2e/mockllm, e2e/opencodetest, e2e/stage, e2e/suite, internal/doctor,
// internal/json, schema and store/file.
package fault
