package replay

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSourcesAddUpToThePrompt(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "testdata", "traces", "short.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := Run(ctx, f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Passes {
		if got, want := p.Sources.Total(), p.Tokens.Prompt(); got != want || want == 0 {
			t.Errorf("pass %d: sources %+v are %d tokens, the prompt has %d", p.Pass, p.Sources, got, want)
		}
		if p.WindowTokens <= 0 || p.ThresholdTokens <= 0 || p.ThresholdTokens >= p.WindowTokens {
			t.Errorf("pass %d: threshold %d of window %d", p.Pass, p.ThresholdTokens, p.WindowTokens)
		}
	}
	last := r.Passes[len(r.Passes)-1].Sources
	if last.System == 0 || last.Text == 0 || last.Inputs == 0 || last.Results == 0 {
		t.Errorf("a session with tools is made of %+v", last)
	}
}
