package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/replay"
)

func TestReplayWritesPage(t *testing.T) {
	trace := filepath.Join("..", "..", "testdata", "traces", "short.jsonl.gz")
	page := filepath.Join(t.TempDir(), "page.html")
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"replay", "--json", "--html", page, trace}, strings.NewReader(""), &out, &errs, newFakeHost); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(content, []byte("<!doctype html>")) || !bytes.Contains(content, []byte("Replay of <bdi>short.jsonl.gz</bdi>")) || !bytes.HasSuffix(bytes.TrimSpace(content), []byte("</html>")) {
		t.Errorf("the page begins with %.100s", content)
	}
	if !strings.HasPrefix(out.String(), "{") {
		t.Errorf("--html changes what is printed: %.100s", out.String())
	}
}

// The report and the table of --marks must show the same cost for the chosen marks.
func TestMarksAgreeWithTheReport(t *testing.T) {
	trace := filepath.Join("..", "..", "testdata", "traces", "short.jsonl.gz")
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"replay", "--json", "--marks", trace}, strings.NewReader(""), &out, &errs, newFakeHost); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var s replay.Summary
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Marks) == 0 || !s.Marks[0].Chosen || s.Marks[0].Bill != s.Bill || s.Marks[0].Tokens != s.Tokens || s.Bill <= 0 {
		t.Errorf("the report has $%v and %+v, the marks have %+v", s.Bill, s.Tokens, s.Marks)
	}
}

func TestReplaySaysThatThePageCannotBeWritten(t *testing.T) {
	trace := filepath.Join("..", "..", "testdata", "traces", "short.jsonl.gz")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"replay", "--html", filepath.Join(t.TempDir(), "missing", "page.html"), trace}, strings.NewReader(""), &out, &errs, newFakeHost)
	if code == 0 || !strings.Contains(errs.String(), "page.html") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// Once, a replay of a truncated file exited with 0.
func TestB9TruncatedTraceFails(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("..", "..", "testdata", "traces", "short.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "cut.jsonl.gz")
	if err := os.WriteFile(trace, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"replay", trace}, strings.NewReader(""), &out, &errs, newFakeHost)
	if code == 0 || !strings.Contains(errs.String(), "breaks off") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	first, _, _ := strings.Cut(out.String(), "\n")
	if !strings.Contains(first, "incomplete") {
		t.Errorf("the report begins with %q", first)
	}
}
