package e2e

import (
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/magicctx/magicctx-host/internal/mockllm"
	"github.com/magicctx/magicctx-host/internal/opencodetest"
)

// A worker is a model that reads on in a log until it has read enough. What it
// says depends on the size of the prompts that it gets, so that pressure comes
// from content, and a bust relieves it.
type worker struct {
	// dialect decides whether the worker thinks, with a signature.
	dialect mockllm.Dialect
	project string

	mu sync.Mutex
	// enough says after a request of this size that the turn is over.
	enough func(tokens int) bool
	// lines is how many lines each call of the next step reads.
	lines func(tokens int) int
	// window is the size from which the provider refuses, 0 for none.
	window  int
	refused int
	step    int
	calls   int
	// thoughts are all that was thought, thought is the newest, and thoughtOf is
	// the one that led to a call.
	thoughts  map[thought]bool
	thought   thought
	thoughtOf map[string]thought
}

const (
	// logLines is what the worker has to read.
	logLines = 4_000
	// callsPerStep of usualLines make some 900 tokens; largeLines are 8,000.
	callsPerStep = 2
	usualLines   = 30
	largeLines   = 640
)

func (w *world) worker(d mockllm.Dialect) *worker {
	return &worker{
		dialect: d, project: w.project, thoughts: map[thought]bool{}, thoughtOf: map[string]thought{},
		lines: func(int) int { return usualLines },
	}
}

// logFiles is the project of a worker. Its lines differ from each other, and the
// host counts about as many tokens in them as the provider.
func logFiles() map[string]string {
	var b strings.Builder
	for i := range logLines {
		fmt.Fprintf(&b, "job %d is waiting for the amber service\n", i*7919%99991)
	}
	return map[string]string{"job.log": b.String()}
}

// answer is what the worker says to a request.
func (k *worker) answer(r *mockllm.Request) mockllm.Step {
	k.mu.Lock()
	defer k.mu.Unlock()
	tokens := r.Tokens()
	if k.window > 0 && tokens > k.window {
		k.refused++
		return refusal(r.Dialect, tokens, k.window)
	}
	k.step++
	if k.enough(tokens) {
		return mockllm.Step{Blocks: append(k.think(), mockllm.Text(fmt.Sprintf("Found nothing by step %d.", k.step)))}
	}
	blocks := k.think()
	if k.step%3 == 0 {
		blocks = append(blocks, mockllm.Text(fmt.Sprintf("Reading on, step %d.", k.step)))
	}
	lines := k.lines(tokens)
	for i := range callsPerStep {
		blocks = append(blocks, k.read(lines, i == 0))
		if lines == largeLines {
			break
		}
	}
	return mockllm.Step{Blocks: blocks}
}

// A thought is what a provider checks when it gets its thinking back: a text with
// its signature, or the data of which only it can read the text.
type thought struct{ text, signature string }

// think is the thinking that a step begins with; now and then the provider hides
// the text.
func (k *worker) think() []mockllm.Block {
	if k.dialect != mockllm.Anthropic {
		return nil
	}
	var block mockllm.Block
	if k.step%4 == 2 {
		k.thought = thought{text: fmt.Sprintf("aGlkZGVu%08d==", k.step)}
		block = mockllm.RedactedThinking(k.thought.text)
	} else {
		k.thought = thought{fmt.Sprintf("Step %d: is it <here>?\n\tNot \"yet\".", k.step), fmt.Sprintf("c2lnbmF0dXJl%08d==", k.step)}
		block = mockllm.Thinking(k.thought.text, k.thought.signature)
	}
	k.thoughts[k.thought] = true
	return []mockllm.Block{block}
}

// read is a call that reads the next lines, with the shell or without.
func (k *worker) read(lines int, shell bool) mockllm.Block {
	id := fmt.Sprintf("toolu_%05d", k.calls)
	first := k.calls*usualLines%(logLines-lines) + 1
	k.calls++
	if k.dialect == mockllm.Anthropic {
		k.thoughtOf[id] = k.thought
	}
	if shell {
		command := fmt.Sprintf("sed -n %d,%dp job.log", first, first+lines-1)
		return mockllm.Tool(id, "bash", map[string]any{"command": command, "description": "Read on"})
	}
	return mockllm.Tool(id, "read", map[string]any{"filePath": filepath.Join(k.project, "job.log"), "offset": first, "limit": lines})
}

// refusal is how the providers say that a prompt is too long.
func refusal(d mockllm.Dialect, tokens, window int) mockllm.Step {
	message := fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, window)
	if d == mockllm.OpenAI {
		message = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. "+
			"Please reduce the length of the messages.", window, tokens)
	}
	return mockllm.Fail(http.StatusBadRequest, "invalid_request_error", message)
}

// until makes the worker stop when enough says so.
func (k *worker) until(enough func(tokens int) bool) *worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.enough = enough
	return k
}

// above is when a prompt is larger than that.
func above(tokens int) func(int) bool { return func(n int) bool { return n > tokens } }

// steps is after so many steps with calls.
func steps(n int) func(int) bool {
	return func(int) bool {
		n--
		return n < 0
	}
}

// relieved is n steps after a prompt was smaller than the one before.
func relieved(n int) func(int) bool {
	before, left := 0, -1
	return func(tokens int) bool {
		switch {
		case left > 0:
			left--
		case tokens < before:
			left = n
		}
		before = tokens
		return left == 0
	}
}

// serve makes the worker answer the requests that match.
func (k *worker) serve(w *world, rule string, match func(*mockllm.Request) bool) {
	w.mock.AddRule(mockllm.Rule{Name: rule, Match: match, Answer: k.answer})
}

// picture is a small image as a user pastes it, and no smaller than what is
// taken for one.
func picture(t *testing.T) opencodetest.File {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 24, 24))
	for x := range 24 {
		for y := range 24 {
			img.Set(x, y, color.RGBA{uint8(x * x * y), uint8(y * y * x), uint8(x * y * 7), 255})
		}
	}
	var b strings.Builder
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return opencodetest.File{Mime: "image/png", Name: "screen.png", URL: "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(b.String()))}
}
