package overflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
)

func TestEveryWordingIsUnderstood(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
	}{
		{"prompt is too long: 210000 tokens > 200000 maximum", 200_000},
		{"Prompt is too long: 210,000 tokens > 200,000 maximum", 200_000},
		{`{"error":{"message":"prompt is too long: 210000 tokens \u003e 200000 maximum"}}`, 200_000},
		{"prompt is too long", 0},
		{"input length and `max_tokens` exceed context limit: 195000 + 21333 > 200000, decrease input length", 200_000},
		{"Input is too long for requested model.", 0},
		{"Your input exceeds the context window of this model. Please adjust your input and try again.", 0},
		{"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576},
		{"The input token count exceeds the maximum number of tokens allowed 32768.", 32_768},
		{"This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072},
		{"This model's maximum prompt length is 131,072, but the request contains 537,812 tokens.", 131_072},
		{"Please reduce the length of the messages or completion.", 0},
		{"This endpoint's maximum context length is 163840 tokens. However, you requested about 170000 tokens.", 163_840},
		{"This model's maximum context length is 128_000 tokens. Please reduce the length of the messages.", 128_000},
		{"prompt token count of 130000 exceeds the limit of 128000", 128_000},
		{"the request exceeds the available context size, context size is 8192 tokens", 8_192},
		{"request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it", 8_192},
		{`{"error":{"code":400,"message":"the request exceeds the available context size","n_prompt_tokens":9001,"n_ctx":8192}}`, 8_192},
		{"The number of tokens to keep from the initial prompt is greater than the context length", 0},
		{"tokens to keep is greater than the context length. The model is loaded with context length of only 4096 tokens", 4_096},
		{"invalid params, context window exceeds limit (2013)", 0}, // an error code
		{"Your request exceeded model token limit: 262144 (requested: 291351)", 262_144},
		{`{"code":"context_length_exceeded"}`, 0},
		{"Context length exceeded", 0},
		{"Request Entity Too Large", 0},
		{"413 Payload too large", 0},
		{"HTTP 413: the prompt does not fit", 0},
		{"The context length is only 32768 tokens, resulting in a maximum input length of 32000 tokens.", 32_768},
		{"input length 9000 exceeds the context length of 8192", 8_192},
		{"Input length (9000) exceeds model's maximum context length (8192).", 8_192},
		{"prompt too long; exceeded context length by 42 tokens", 0},
		{"prompt too long; exceeded max context length by 4200 tokens", 0}, // by how much
		{"Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768},
		{"finish_reason: model_context_window_exceeded", 0},
		{"The context size has been exceeded.", 0},
		{"Context length exceeded: maximum context window is 65536", 65_536},
		// A number that no limit can be is passed over.
		{"exceeds the limit of 512 and exceeds the limit of 128000", 128_000},
		{"maximum prompt length is 900", 0},
		{"maximum prompt length is 90000000", 0},
		{"maximum prompt length is 99999999999999999999999", 0},
		{"maximum prompt length is 8192,16384", 8_192},
	} {
		got, ok := Detect(json.Quote(test.text))
		if !ok || got.LimitTokens != test.limit {
			t.Errorf("%q: limit %d, overflow %t, want %d", test.text, got.LimitTokens, ok, test.limit)
		}
	}
}

func TestOtherErrorsAreNoOverflow(t *testing.T) {
	for _, text := range []string{
		"", "   ", "error 413", "rate limit exceeded", "bad key", "messages.1: bad", "overloaded_error",
		"This request would exceed the limit of 30000 tokens per minute",
		"Rate limit reached: 250000 exceeds the limit of 200000 (TPM). Please reduce the length of the messages.",
		"the file has 4130 prompts", "response blocked by the content filter", "max_tokens must be at least 1",
	} {
		if got, ok := Detect(json.Quote(text)); ok {
			t.Errorf("%q is taken for an overflow: %+v", text, got)
		}
	}
	for _, value := range []string{`null`, `{}`, `[]`, `17`, ``, `{"name":5}`, `{"name":"APIError","data":{"message":"bad key","statusCode":401}}`} {
		if got, ok := Detect(json.Value(value)); ok {
			t.Errorf("%s is taken for an overflow: %+v", value, got)
		}
	}
}

func TestTheMessageIsFoundWhereverItIs(t *testing.T) {
	const message = `"exceeds the limit of 128000"`
	for _, value := range []string{
		message,
		`{"message":` + message + `}`,
		`{"error":{"message":` + message + `}}`,
		`{"error":` + message + `}`,
		`{"responseBody":` + message + `}`,
		`{"name":"APIError","data":{"message":` + message + `}}`,
		`{"name":"APIError","data":{"message":"Bad Request","responseBody":` + message + `}}`,
		`{"name":"APIError","message":5,"data":{"error":{"message":` + message + `}}}`,
		`{"what":{"ever":[` + message + `]}}`,
		`[` + message + `]`,
	} {
		if got, ok := Detect(json.Value(value)); !ok || got.LimitTokens != 128_000 {
			t.Errorf("%s: %+v, %t", value, got, ok)
		}
	}
}

func TestTheBodySaysWhatTheMessageLeavesOut(t *testing.T) {
	got, ok := Detect(json.Value(`{"name":"ContextOverflowError","data":{"message":"Input exceeds the context window of this model",` +
		`"responseBody":"{\"message\":\"maximum context length is 65536 tokens\"}"}}`))
	if !ok || got != (Overflow{LimitTokens: 65_536, Family: "openai"}) {
		t.Errorf("%+v, %t", got, ok)
	}
}

// OpenCode's own judgement counts, in words that nobody knows here, too.
func TestTheHarnessMayKnowBetter(t *testing.T) {
	got, ok := Detect(json.Value(`{"name":"ContextOverflowError","data":{"message":"Zu lang"}}`))
	if !ok || got.LimitTokens != 0 {
		t.Errorf("%+v, %t", got, ok)
	}
}

func TestStatus413NeedsAPrompt(t *testing.T) {
	for text, want := range map[string]bool{"payload is too big": true, "no": false} {
		value := fmt.Sprintf(`{"name":"APIError","data":{"statusCode":413,"message":%q,"responseHeaders":{"x-context":"prompt"}}}`, text)
		if _, ok := Detect(json.Value(value)); ok != want {
			t.Errorf("%s: %t, want %t", value, ok, want)
		}
	}
	// A number of a header is no status.
	if _, ok := Detect(json.Value(`{"data":{"message":"bad prompt","statusCode":400,"responseHeaders":{"content-length":"413"}}}`)); ok {
		t.Error("a content length is taken for a status")
	}
}

func FuzzDetect(f *testing.F) {
	f.Add(`{"name":"ContextOverflowError","data":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`)
	f.Add(`"exceeds the limit of 1,2,3"`)
	f.Add(`{"error":{"message":"maximum context length is 9'999 tokens"}}`)
	f.Add(`{"responseBody":"\ud800 413 prompt"}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, value := range []json.Value{json.Value(text), json.Quote(text)} {
			o, ok := Detect(value)
			if o.LimitTokens != 0 && (o.LimitTokens < minLimit || o.LimitTokens > maxLimit) {
				t.Errorf("limit %d", o.LimitTokens)
			}
			if ok != (o.Family != "") || !ok && o != (Overflow{}) {
				t.Errorf("%t with %+v", ok, o)
			}
			if again, okAgain := Detect(value); again != o || okAgain != ok {
				t.Error("two runs differ")
			}
		}
	})
}

// A page of HTML, or a prompt that is given back, takes no time to read.
func BenchmarkDetectLong(b *testing.B) {
	value := json.Quote(strings.Repeat("input length maximum context exceeds ", 10_000))
	for b.Loop() {
		Detect(value)
	}
}
