package dashboard

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/store/storetest"
)

// Only directories with a session are read, so a page cannot find out what other directories hold.
func TestSettingsNameTheirFile(t *testing.T) {
	s := serve(t).enter()
	home, known, other := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	for _, dir := range []string{known, other} {
		storetest.Must(t, os.WriteFile(filepath.Join(dir, "magicctx.jsonc"), []byte("{\n\"enabled\": false, \"zebra\": 1}"), 0o600))
	}
	c := storetest.Commit(1)
	c.Session.Directory = known
	storetest.Must(t, storetest.Open(t, s.dir).CommitPass(t.Context(), c))
	for _, c := range []struct {
		harness, directory string
		status             int
		want               string
	}{
		{"pi", known, http.StatusOK, `{"key":"enabled","value":"false","place":"` + filepath.Join(known, "magicctx.jsonc") + `:2"}`},
		{"pi", known, http.StatusOK, "zebra is not a known key"},
		{"opencode", "", http.StatusOK, `{"key":"enabled","value":"true","place":""}`},
		{"opencode", other, http.StatusUnprocessableEntity, "knows no session"},
		{"vim", "", http.StatusUnprocessableEntity, "no harness"},
	} {
		query := url.Values{"harness": {c.harness}, "directory": {c.directory}}
		if status, body := s.api("GET", "/api/settings?"+query.Encode(), ""); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s in %s: %d %s, want %s", c.harness, c.directory, status, body, c.want)
		}
	}
}
