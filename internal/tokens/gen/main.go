package main

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
)

const splitPattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

func main() {
	in := flag.String("in", "node_modules/@anthropic-ai/tokenizer/claude.json", "vocabulary of the npm package")
	out := flag.String("out", "internal/tokens/vocabulary.bin", "file to write")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	data, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	plain, err := pack(data)
	if err != nil {
		return fmt.Errorf("pack %s: %w", in, err)
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(plain); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// pack returns the vocabulary before its compression: the number of tokens, then the lengths of all tokens, then their
// bytes, in order of rank.
func pack(claude []byte) ([]byte, error) {
	var doc struct {
		Pattern string `json:"pat_str"`
		Ranks   string `json:"bpe_ranks"`
	}
	if err := json.Unmarshal(claude, &doc); err != nil {
		return nil, err
	}
	if doc.Pattern != splitPattern {
		return nil, fmt.Errorf("another split pattern: %s", doc.Pattern)
	}
	// Ranks is one line: "!", the first rank, then the tokens in base64.
	fields := strings.Fields(doc.Ranks)
	if strings.Count(doc.Ranks, "!") != 1 || len(fields) < 3 {
		return nil, fmt.Errorf("bpe_ranks are not one run of tokens")
	}
	fields = fields[2:]
	lengths := binary.AppendUvarint(nil, uint64(len(fields)))
	var text []byte
	for _, field := range fields {
		token, err := base64.StdEncoding.DecodeString(field)
		if err != nil {
			return nil, fmt.Errorf("token %q: %w", field, err)
		}
		lengths = binary.AppendUvarint(lengths, uint64(len(token)))
		text = append(text, token...)
	}
	return append(lengths, text...), nil
}
