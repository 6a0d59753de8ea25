package host

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

func TestDebugEchoHasTheConfiguredPrefix(t *testing.T) {
	h := turn(t)
	r, err := h.host.DebugEcho(t.Context(), h, schema.DebugEchoParams{Directory: "/p", Text: "hello"})
	if err != nil || r.Text != "echo: hello" {
		t.Errorf("got %q, error %v", r.Text, err)
	}
}
