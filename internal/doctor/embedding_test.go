package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestEmbeddingIsTried(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/good/") {
			fmt.Fprint(w, `{"model": "small", "data": [{"embedding": [1, 0]}]}`)
		} else {
			fmt.Fprint(w, `{"model": "large", "data": [{"embedding": [1, 0]}]}`)
		}
	}))
	defer server.Close()
	for endpoint, want := range map[string]Finding{
		"":                       {},
		server.URL + "/good":     {Level: OK, Message: "0 texts have vectors of small"},
		server.URL + "/other":    {Level: Warn, Message: `the model "large", and "small" is configured`},
		"http://127.0.0.1:1/v1":  {Level: Warn, Message: "refused"},
		"http://169.254.169.254": {Level: Warn, Message: "169.254.169.254"},
	} {
		o := well(t)
		if endpoint != "" {
			write(t, filepath.Join(o.Env("HOME"), ".config", "magicctx", "magicctx.jsonc"),
				fmt.Sprintf(`{"embedding": {"provider": "openai-compatible", "model": "small", "endpoint": %q}}`, endpoint), 0o600)
		}
		var got Finding
		for _, f := range examine(t, o) {
			if f.Check == "embedding" {
				got = f
			}
		}
		if got.Level != want.Level || !strings.Contains(got.Message, want.Message) || (got.Remedy != "") != (want.Level == Warn) {
			t.Errorf("%s: %+v", endpoint, got)
		}
	}
}
