package tokens

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
)

// countAll is a JavaScript program that reads an array of texts and writes an array of their token counts. It counts
// special tokens like ordinary text.
const countAll = `
const { getTokenizer } = require("@anthropic-ai/tokenizer");
const tokenizer = getTokenizer();
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => tokenizer.encode(text, [], []).length)));
`

func TestCountEqualsNPMPackage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := exec.CommandContext(ctx, "node", "-e", `require.resolve("@anthropic-ai/tokenizer")`).Run(); err != nil {
		t.Skip("the npm package @anthropic-ai/tokenizer is not installed where node looks (npm ci, or NODE_PATH): ", err)
	}
	var texts []string
	for _, v := range vectors {
		texts = append(texts, v.text)
	}
	mixed := sample(400_000)
	for len(mixed) > 0 {
		end := min(len(mixed), 1+len(texts)%211)
		texts = append(texts, strings.ToValidUTF8(mixed[:end], "�"))
		mixed = mixed[end:]
	}
	texts = append(texts, strings.ToValidUTF8(sample(50_000), ""), strings.Repeat("快速的棕色狐狸", 400), strings.Repeat(" \t\n", 99)+"x")

	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(ctx, "node", "-e", countAll)
	node.Stdin = bytes.NewReader(input)
	output, err := node.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []int
	if err := json.Unmarshal(output, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(texts) {
		t.Fatalf("%d counts for %d texts", len(want), len(texts))
	}
	for i, text := range texts {
		if got := Count(text); got != want[i] {
			t.Errorf("Count(%q) = %d, the package says %d", text, got, want[i])
		}
	}
}
