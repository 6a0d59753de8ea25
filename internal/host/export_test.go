package host

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// Users send traces with the exported configuration to others.
func TestExportHoldsNoAPIKey(t *testing.T) {
	h := newHarness(t)
	h.config.Embedding.APIKey, h.config.Embedding.Endpoint = "key-of-the-user", "https://user:password@example.com"
	h.restart()
	e, err := h.host.SessionExport(t.Context(), h, schema.SessionExportParams{Harness: h.kind, Session: testSession, Directory: h.project, Messages: json.Value(`[]`)})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(e.Config); strings.Contains(text, "key-of-the-user") || strings.Contains(text, "password") {
		t.Errorf("the exported configuration is %s", text)
	}
}
