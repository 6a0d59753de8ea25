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
		{"input length and `max_tokens` exceed context limit: 195000 + 21333 > 200000, decrease input length", 178_667},
		{"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).", 3096},
		{"This endpoint's maximum context length is 163840 tokens. However, you requested about 170000 tokens (168000 of text input, 2000 in the output).", 161_840},
		{"input length and `max_tokens` exceed context limit: 500 + 199500 > 200000", 200_000}, // nothing would be left for a prompt
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
		{"invalid params, context window exceeds limit (2013)", 0}, // 2013 is an error code
		{"Your request exceeded model token limit: 262144 (requested: 291351)", 262_144},
		{`{"code":"context_length_exceeded"}`, 0},
		{"Context length exceeded", 0},
		{"Request Entity Too Large", 0},
		{"413 Payload too large", 0},
		{"HTTP 413: the prompt does not fit", 0},
		// These limits are in bytes, so Detect must not return them as limits in tokens.
		{"413 request_too_large", 0},
		{`413 {"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, 0},
		{"Request exceeds the maximum allowed number of bytes. The maximum request size is 32 MB.", 0},
		{"Request too large (max 32MB). Double press esc to go back and try with a smaller file.", 0},
		{"request_too_large: 33554433 bytes > 33554432 bytes", 0},
		{"Payload Too Large", 0},
		{"PayloadTooLargeError: request entity too large", 0},
		{"FUNCTION_PAYLOAD_TOO_LARGE", 0},
		{"413 Content Too Large", 0},
		{"<html><head><title>413 Request Entity Too Large</title></head></html>", 0},
		{"http: request body too large", 0},
		{"Request payload size exceeds the limit: 20971520 bytes.", 0},
		{"Error: HTTP 413 from upstream, the message is too big", 0},
		{"The context length is only 32768 tokens, resulting in a maximum input length of 32000 tokens.", 32_768},
		{"input length 9000 exceeds the context length of 8192", 8_192},
		{"Input length (9000) exceeds model's maximum context length (8192).", 8_192},
		{"prompt too long; exceeded context length by 42 tokens", 0},
		{"prompt too long; exceeded max context length by 4200 tokens", 0}, // the number is the excess
		{"Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768},
		{"finish_reason: model_context_window_exceeded", 0},
		{"The context size has been exceeded.", 0},
		{"Context length exceeded: maximum context window is 65536", 65_536},
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

func TestTheSizeOfTheRefusedPromptIsRead(t *testing.T) {
	for text, want := range map[string]int{
		"prompt is too long: 215432 tokens > 200000 maximum":                                                                                              215_432,
		"Prompt is too long: 210,000 tokens > 200,000 maximum":                                                                                            210_000,
		`{"error":{"message":"prompt is too long: 673819 tokens \u003e 200000 maximum"}}`:                                                                 673_819,
		"input length and `max_tokens` exceed context limit: 195000 + 21333 > 200000, decrease input length":                                              195_000,
		"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).":                                                         1_100_000,
		"This model's maximum prompt length is 131,072, but the request contains 537,812 tokens.":                                                         537_812,
		"This endpoint's maximum context length is 163840 tokens. However, you requested about 170000 tokens (168000 of text input, 2000 in the output).": 168_000,
		"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).":          4000,
		"This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens.":                                              40_000,
		"prompt token count of 130000 exceeds the limit of 128000":                                                                                        130_000,
		"request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it":                                                       9001,
		`{"error":{"code":400,"message":"the request exceeds the available context size","n_prompt_tokens":9001,"n_ctx":8192}}`:                           9001,
		"Your request exceeded model token limit: 262144 (requested: 291351)":                                                                             291_351,
		"Prompt contains 40000 tokens, too large for model with 32768 maximum context length":                                                             40_000,
		"Input length (9000) exceeds model's maximum context length (8192).":                                                                              9000,
		"prompt too long; exceeded max context length by 4200 tokens":                                                                                     0, // the number is the excess
		"prompt is too long": 0,
		"This model's maximum prompt length is 131072 but the request contains 2000 tokens.": 0, // half the limit or less, so it is not the length of the prompt
		"invalid params, context window exceeds limit (2013)":                                0,
	} {
		if got, ok := Detect(json.Quote(text)); !ok || got.PromptTokens != want {
			t.Errorf("%q: prompt %d, overflow %t, want %d", text, got.PromptTokens, ok, want)
		}
	}
}

func TestOtherErrorsAreNoOverflow(t *testing.T) {
	for _, text := range []string{
		"Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 40123.", // a quota, which passes after a minute
		"image exceeds 5 MB maximum", "the file is too large to be shown", "too many requests, the request queue is too large",
		"max_tokens is too large: 200000", "request exceeded its deadline", "the request exceeds what the key allows",
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
		`{"type":"provider.invalid-request","message":"Provider request failed with HTTP 400","response":{"body":` + message + `}}`,
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

// If OpenCode reports an overflow, Detect reports it even if the wording is unknown.
func TestTheHarnessMayKnowBetter(t *testing.T) {
	got, ok := Detect(json.Value(`{"name":"ContextOverflowError","data":{"message":"Zu lang"}}`))
	if !ok || got.LimitTokens != 0 {
		t.Errorf("%+v, %t", got, ok)
	}
}

func TestStatus413NeedsAPrompt(t *testing.T) {
	for text, want := range map[string]bool{
		"payload is too big": true, "Request failed": true, "Too large": true, "Maximum size reached by the message": true, "no": false,
	} {
		value := fmt.Sprintf(`{"name":"APIError","data":{"statusCode":413,"message":%q,"responseHeaders":{"x-context":"prompt"}}}`, text)
		if _, ok := Detect(json.Value(value)); ok != want {
			t.Errorf("%s: %t, want %t", value, ok, want)
		}
	}
	if _, ok := Detect(json.Value(`{"type":"provider.invalid-request","status":413,"message":"Too large"}`)); !ok {
		t.Error("the status of OpenCode 2 is not read")
	}
	// A number in a header is not a status.
	if _, ok := Detect(json.Value(`{"data":{"message":"bad prompt","statusCode":400,"responseHeaders":{"content-length":"413"}}}`)); ok {
		t.Error("a content length is taken for a status")
	}
}

// Some providers name the overflow only in the error code.
func TestTheCodeTellsWhereTheMessageDoesNot(t *testing.T) {
	for _, value := range []string{
		`{"type":"error","error":{"type":"request_too_large","message":"Sorry"}}`,
		`{"name":"APIError","data":{"message":"Sorry","statusCode":413,"responseBody":"{\"error\":{\"type\":\"request_too_large\"}}"}}`,
		`{"name":"APIError","data":{"error":{"code":"context_length_exceeded","message":"Sorry"}}}`,
		`{"code":"context_length_exceeded","message":"Sorry"}`,
	} {
		if got, ok := Detect(json.Value(value)); !ok || got.LimitTokens != 0 {
			t.Errorf("%s: %+v, %t", value, got, ok)
		}
	}
	for _, value := range []string{
		`{"type":"error","error":{"type":"invalid_request_error","message":"Sorry"}}`,
		`{"code":413,"message":"Sorry"}`,
		`{"error":{"type":"rate_limit_error","code":"too_large","message":"Sorry"}}`,
	} {
		if got, ok := Detect(json.Value(value)); ok {
			t.Errorf("%s is taken for an overflow: %+v", value, got)
		}
	}
	// Detect reads the whole text of an object with an unknown form.
	if got, ok := Detect(json.Value(`{"error":{"type":"x","detail":"exceeds the limit of 128000"}}`)); !ok || got.LimitTokens != 128_000 {
		t.Errorf("%+v, %t", got, ok)
	}
}

// A size in bytes must never become a limit, because a wrong limit stays until a larger prompt is accepted.
func FuzzASizeInBytesIsNoLimit(f *testing.F) {
	f.Add("413 request_too_large", 33_554_432, "bytes")
	f.Add("Request exceeds the maximum size", 32, "MB")
	f.Add("Payload Too Large: max", 200_000, "bytes")
	f.Add("request body too large", 5_000, "KB")
	f.Fuzz(func(t *testing.T, text string, size int, unit string) {
		if !strings.Contains("bytes byte KB MB KiB MiB", unit) || strings.ContainsAny(text, "0123456789") || len(text) > maxText/2 {
			t.Skip()
		}
		with := fmt.Sprintf("%s: %d %s, %d %s allowed", text, size, unit, size/2, unit)
		o, ok := Detect(json.Quote("request_too_large, " + with))
		if before, _ := Detect(json.Quote(text)); before.Family != "" && before.Family != "request size" && before.Family != "gateway" {
			t.Skip() // the text has the wording of a limit in tokens
		}
		if rateLimit().MatchString(with) || anyMaximum().MatchString(with) {
			t.Skip()
		}
		if !ok || o.LimitTokens != 0 {
			t.Errorf("%q: %+v, %t", with, o, ok)
		}
	})
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

// An error may contain a page of HTML, or the whole prompt, and must still be read quickly.
func BenchmarkDetectLong(b *testing.B) {
	value := json.Quote(strings.Repeat("input length maximum context exceeds ", 10_000))
	for b.Loop() {
		Detect(value)
	}
}
