package page

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/schema"
)

// `needle` stands for each text that a session may hold: a path, a user, a host, a prompt, a file, a secret or an id.
const needle = "/home/needle/project"

func plant(_, _ string) string { return needle }

func played(t *testing.T) replay.Summary {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "testdata", "traces", "edge.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	report, err := replay.Run(t.Context(), f, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report.Summary()
}

// A shared page must contain nothing of the session but numbers and codes such as "pressure". It must not load anything
// from the network.
func TestSharedPageHoldsNoText(t *testing.T) {
	s := played(t)
	s.Missing = []string{"the limits of " + needle}
	s.ValidatorHits = []replay.Finding{{Pass: 1, Rule: "pair", Detail: needle}}
	var texts []string
	for _, p := range s.Detail {
		p.History = &schema.HistoryStatus{LastError: needle}
		p.Published = []schema.HistoryPublish{{Model: needle, Start: 1, End: 2, MadeBy: "model", Compartments: 1}}
		texts = append(texts, p.Session, p.Model)
		for i := range p.Taken {
			if p.Taken[i].Label != "" {
				texts = append(texts, p.Taken[i].Label)
			}
			p.Taken[i].Label, p.Taken[i].Tool = p.Taken[i].Label+" "+needle, needle
		}
	}
	write := func() string {
		var b bytes.Buffer
		if err := Write(&b, s, Options{Trace: "a session"}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if open := write(); !strings.Contains(open, needle) || len(texts) < 10 {
		t.Fatalf("the needle is not in the page before it is shared, and there are %d texts", len(texts))
	}
	requests := s.Passes
	Share(&s, false)
	shared := write()
	for _, text := range append(texts, needle, "needle", "ses_") {
		if text != "" && strings.Contains(shared, text) {
			t.Errorf("the shared page holds %q", text)
		}
	}
	if s.Passes != requests || !strings.Contains(shared, "session 1") || !strings.Contains(shared, "default-src &#39;none&#39;") {
		t.Error("the shared page has lost its numbers, its sessions or its policy")
	}
	for _, outside := range []string{"http:", "https:", "src=", "@import", "url("} {
		if strings.Contains(shared, outside) {
			t.Errorf("the page holds %q", outside)
		}
	}
}

func TestSharedTextsHoldNoSecret(t *testing.T) {
	secret := "ghp_" + "x7Kd92LmQ4vT8sWn3ZpR6yBh1CgJ5fUa0Ee9"
	s := replay.Summary{Missing: []string{"token " + secret}, Detail: []*replay.Pass{{Pass: 1, Session: "ses_1", Taken: []replay.Taken{{Label: "curl " + secret}}}}}
	Share(&s, true)
	if got := s.Missing[0] + s.Detail[0].Taken[0].Label; strings.Contains(got, secret) || !strings.Contains(got, "curl ") || s.Detail[0].Session != "ses_1" {
		t.Errorf("shared %q", got)
	}
}

// Somebody may add a field later and not know about redact. So redact must remove every text of a value, and may keep
// only the fields that it lists by name. Here it must keep neither Name nor the text in a nested struct.
func TestEachTextIsRedacted(t *testing.T) {
	type inner struct{ Text string }
	v := struct {
		Rule, Name string
		All        []*inner
	}{"r", "n", []*inner{{"t"}}}
	redact(reflect.ValueOf(&v).Elem(), "", plant)
	if v.Name != needle || v.All[0].Text != needle {
		t.Errorf("%+v", v)
	}
}

// A credential must be found even if a control character is inside it, or if the end of the text was cut off.
func TestSharedTextsHideNoCredential(t *testing.T) {
	const token = "ghp_x7Kd92LmQ4vT8sWn3ZpR6yBh1CgJ5fUa0Ee9"
	for _, text := range []string{
		"echo gh\x1b[0m" + token[2:], "echo gh\u200b" + token[2:], "curl https://api.example.com Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZUBleGFtcGxl…",
	} {
		if got := withoutSecrets(text); strings.Contains(got, "x7Kd92") || strings.Contains(got, "eyJzdWIi") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := withoutSecrets("go test ./internal/vi…"); got != "go test ./internal/vi…" {
		t.Errorf("a harmless label becomes %q", got)
	}
}

// A trace may contain any price, even an infinite one. An axis must nevertheless get only a few marks.
func TestAxisOfAnyLengthIsDrawn(t *testing.T) {
	for _, top := range []float64{1e15, 1e16, 1e30, math.Inf(1), math.NaN()} {
		if n := len(grid(top)) + len(moneyGrid(top)); n > 20 {
			t.Errorf("%g: %d marks", top, n)
		}
	}
}
