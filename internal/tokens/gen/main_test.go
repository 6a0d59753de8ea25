package main

import (
	"bytes"
	"compress/flate"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestCommittedVocabularyIsThatOfThePackage(t *testing.T) {
	path, err := exec.Command("node", "-p", `require.resolve("@anthropic-ai/tokenizer/claude.json")`).Output()
	if err != nil {
		t.Skip("the npm package @anthropic-ai/tokenizer is not installed where node looks (npm ci, or NODE_PATH): ", err)
	}
	claude, err := os.ReadFile(strings.TrimSpace(string(path)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := pack(claude)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.Open("../vocabulary.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	got, err := io.ReadAll(flate.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("vocabulary.bin is stale: run go generate ./internal/tokens")
	}
}

func TestPackRefusesAnUnknownFormat(t *testing.T) {
	pattern := `"pat_str":` + "\"'s|'t|'re|'ve|'m|'ll|'d| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+\""
	for name, doc := range map[string]string{
		"no JSON":       `{`,
		"other pattern": `{"pat_str":"\\w+","bpe_ranks":"! 5 IQ=="}`,
		"two runs":      `{` + pattern + `,"bpe_ranks":"! 5 IQ==\n! 9 Ig=="}`,
		"no tokens":     `{` + pattern + `,"bpe_ranks":"! 5"}`,
		"not base64":    `{` + pattern + `,"bpe_ranks":"! 5 %%"}`,
	} {
		if _, err := pack([]byte(doc)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	got, err := pack([]byte(`{` + pattern + `,"bpe_ranks":"! 5 IQ== YWI="}`))
	if err != nil || string(got) != "\x02\x01\x02!ab" {
		t.Errorf("pack = %q, %v", got, err)
	}
}
