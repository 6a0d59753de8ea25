package replay

import (
	"bytes"
	"strings"
	"testing"
)

// A fixed bug: a session can have several traces. The store at the beginning of a later trace already counts the tokens
// of the historian's earlier runs. The command `compare` counted these tokens a second time.
func TestRunsBeforeTheTraceCostNothing(t *testing.T) {
	content := string(bytes.Join(plain(t, "history.jsonl.gz"), nil))
	historian := func(content string) float64 {
		played, err := Run(t.Context(), strings.NewReader(content), Options{})
		if err != nil {
			t.Fatal(err)
		}
		saved, _ := played.Summary().Saving()
		return saved.Historian
	}
	const session = "ses_deb23c849ffe2tHxb9U0nhsIYe"
	earlier := content
	for table, row := range map[string]string{
		"sessions":   `"columns":["harness","session_id","updated_at"],"rows":[["opencode","` + session + `",1]]`,
		"agent_work": `"columns":["subject","agent","harness","session_id","runs","input_tokens"],"rows":[["session opencode/` + session + `","historian","opencode","` + session + `",1,1000000]]`,
	} {
		none := `"name":"` + table + `","columns":[],"rows":[]`
		if !strings.Contains(earlier, none) {
			t.Fatalf("the trace has no empty table %s", table)
		}
		earlier = strings.Replace(earlier, none, `"name":"`+table+`",`+row, 1)
	}
	if want, got := historian(content), historian(earlier); got != want || want == 0 {
		t.Errorf("with earlier runs, the historian costs %v, want %v", got, want)
	}
}
