package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// A trace may begin in the middle of a session, and the user may run a command before the first recorded pass. The
// recorder asks for the session's state only at that pass, so the state is recorded after the command. The replay must
// move it before the command.
func TestStateOfAContinuedSessionComesFirst(t *testing.T) {
	const (
		other   = `{"at":1500,"from":"shim","body":{"jsonrpc":"2.0","id":8,"method":"command/execute","params":{"session":"other","command":"ctx-flush"}}}` + "\n"
		command = `{"at":1600,"from":"shim","body":{"jsonrpc":"2.0","id":9,"method":"command/execute","params":{"session":"s","command":"ctx-flush"}}}` + "\n"
		state   = `{"at":1900,"from":"recorder","body":{"method":"session/export","params":{"harness":"opencode","session":"s","directory":"/p"},"result":{"config":{},"passes":PASSES,"tables":[]}}}` + "\n"
	)
	for passes, want := range map[string][]string{
		"3": {schema.MethodInitialize, schema.MethodCommandExecute, schema.MethodSessionExport, schema.MethodCommandExecute, schema.MethodTransform},
		"0": {schema.MethodInitialize, schema.MethodCommandExecute, schema.MethodCommandExecute, schema.MethodSessionExport, schema.MethodTransform},
	} {
		read, err := read(strings.NewReader(hello + other + command + strings.Replace(state, "PASSES", passes, 1) + first))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, s := range read.steps {
			got = append(got, s.method)
			if i > 0 && s.at < read.steps[i-1].at {
				t.Errorf("step %d is at %d, the one before it at %d", i, s.at, read.steps[i-1].at)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s passes: the steps are %v, want %v", passes, got, want)
		}
	}
}

// The bug: the replay moved the states of many sessions one after the other. For this trace of some megabytes, that
// took minutes.
func TestHostileTraceMovesItsStatesAtOnce(t *testing.T) {
	const n = 50_000
	var hostile trace
	for i := range n {
		hostile.steps = append(hostile.steps, step{method: schema.MethodTransform, params: json.Value(fmt.Sprintf(`{"session":"%d"}`, i))})
	}
	for i := range n {
		hostile.steps = append(hostile.steps, step{method: schema.MethodSessionExport, params: json.Value(fmt.Sprintf(`{"params":{"session":"%d"},"result":{"passes":1}}`, i))})
	}
	hostile.stateFirst()
	if s := hostile.steps; len(s) != 2*n || s[0].method != schema.MethodSessionExport || s[2*n-1].method != schema.MethodTransform {
		t.Errorf("%d steps, first %s, last %s", len(s), s[0].method, s[len(s)-1].method)
	}
}

// In its first transform, the shim sends only the changes since an array that the newly started host does not have. The
// host refuses the transform, asks for the whole array, and runs no pass. So the report must not count this transform
// as a pass.
func TestRefusedTransformIsNoPass(t *testing.T) {
	const (
		refused = `{"at":1800,"from":"shim","body":{"jsonrpc":"2.0","id":7,"method":"session/transform","params":{"session":"s","directory":"/p","base":5,"keep":4}},"attachment":[]}` + "\n"
		answer  = `{"at":1801,"from":"host","body":{"jsonrpc":"2.0","id":7,"error":{"code":-32010,"message":"resync"}}}` + "\n"
	)
	if n := passes(t, []byte(hello+refused+answer+first)); n != 1 {
		t.Errorf("%d passes, want 1", n)
	}
}
