package dashboard

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/storetest"
)

// The page must not reveal the content of other directories.
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
		{"pi", known, http.StatusOK, `{"key":"enabled","value":"false","place":"` + filepath.Join(known, "magicctx.jsonc") + `:2","takes":"true or false","choices":["true","false"]}`},
		{"pi", known, http.StatusOK, "zebra is not a known key"},
		{"opencode", "", http.StatusOK, `{"key":"enabled","value":"true","place":"",`},
		{"opencode", other, http.StatusUnprocessableEntity, "knows no session"},
		{"vim", "", http.StatusUnprocessableEntity, "no harness"},
	} {
		query := url.Values{"harness": {c.harness}, "directory": {c.directory}}
		if status, body := s.api("GET", "/api/settings?"+query.Encode(), ""); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s in %s: %d %s, want %s", c.harness, c.directory, status, body, c.want)
		}
	}
}

// A change writes only the user's own file, and only if the file is still as the person saw it.
func TestASettingIsChanged(t *testing.T) {
	s := serve(t).enter()
	home, project := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "PI_CODING_AGENT_DIR"} {
		t.Setenv(name, "")
	}
	file, ofProject := filepath.Join(home, ".pi", "agent", "magicctx.jsonc"), filepath.Join(project, "magicctx.jsonc")
	storetest.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	const before, inProject = "{\n  // mine\n  \"zebra\": \"\u202e\",\n}\n", `{"enabled": false}`
	storetest.Must(t, os.WriteFile(file, []byte(before), 0o600))
	storetest.Must(t, os.WriteFile(ofProject, []byte(inProject), 0o600))
	commit := storetest.Commit(1)
	commit.Session.Directory = project
	storetest.Must(t, storetest.Open(t, s.dir).CommitPass(t.Context(), commit))
	send := func(change settingChange) (int, plannedChange, string) {
		body, err := json.Marshal(change)
		storetest.Must(t, err)
		status, answer := s.api("POST", "/api/settings", string(body))
		var plan plannedChange
		if status == http.StatusOK {
			storetest.Must(t, json.Unmarshal([]byte(answer), &plan))
		}
		return status, plan, answer
	}
	text := func(value string) *string { return &value }
	change := settingChange{Harness: "pi", Directory: project, Key: "protected_tags", Value: text("30")}
	_, plan, answer := send(change)
	if !strings.Contains(plan.Diff, "+  \"protected_tags\": 30,") || strings.Contains(answer, "\u202e") || plan.When != "It takes effect when Pi next starts." || len(plan.Effects) != 1 {
		t.Errorf("the plan is %s", answer)
	}
	storetest.Same(t, "file", read(t, file), before)
	change.Seen = plan.Version
	if status, _, answer := send(change); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
	written := "{\n  // mine\n  \"zebra\": \"\u202e\",\n  \"protected_tags\": 30,\n}\n"
	storetest.Same(t, "file", read(t, file), written)
	change.Value = text("31")
	for _, c := range []struct {
		change settingChange
		want   string
	}{
		{change, "edited in the meantime"}, // Seen is the version before the change above
		{settingChange{Harness: "pi", Key: "protected_tags", Value: text("300")}, "takes a whole number from 1 to 100"},
		{settingChange{Harness: "pi", Key: "protected_tags\x1b[2J", Value: text("3")}, "not a known key"},
		{settingChange{Harness: "pi", Directory: home, Key: "protected_tags", Value: text("3")}, "knows no session"},
		{settingChange{Harness: "../pi", Key: "protected_tags", Value: text("3")}, "no harness"},
		{settingChange{Harness: "pi", Directory: project, Key: "enabled"}, "does not set enabled"},
	} {
		if status, _, answer := send(c.change); status != http.StatusUnprocessableEntity || !strings.Contains(answer, c.want) || strings.Contains(answer, "\x1b") {
			t.Errorf("%+v: %d %s, want %s", c.change, status, answer, c.want)
		}
	}
	storetest.Same(t, "file", read(t, file), written)
	storetest.Same(t, "project's file", read(t, ofProject), inProject)
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	storetest.Must(t, err)
	return string(content)
}
