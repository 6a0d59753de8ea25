package embedding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

func openAI(endpoint string) schema.Embedding {
	return schema.Embedding{Provider: schema.EmbeddingOpenAI, Model: "small", Endpoint: endpoint, MaxInputTokens: 512}
}

// The original plugin writes these identities.
func TestSpaceIsThatOfTheOriginal(t *testing.T) {
	for want, cfg := range map[string]schema.Embedding{
		"embedding-provider:off":                              {Provider: "off"},
		"embedding-provider:b7d9c7b1fa42fa3e4790e41e03317b7a": {Provider: "openai-compatible", Model: "text-embedding-3-small", Endpoint: "https://api.openai.com/v1/"},
		"embedding-provider:2e32e31259cfd022efe5b525a29621af": {Provider: "openai-compatible", Model: "text-embedding-3-small", Endpoint: "https://api.openai.com/v1", APIKey: "sk-x"},
		"embedding-provider:8db30da482ce486d9045e30c2343414e": {Provider: "openai-compatible", Model: "text-embedding-3-small", Endpoint: "https://api.openai.com/v1", APIKey: "sk-y", InputType: "query", Truncate: "END"},
	} {
		if got := spaceOf(cfg); got != want {
			t.Errorf("%+v: %s, want %s", cfg, got, want)
		}
	}
}

func TestServedModel(t *testing.T) {
	for _, c := range []struct {
		served, configured string
		isSame             bool
	}{
		{"text-embedding-3-small-v1", "text-embedding-3-small", true},
		{"qwen", "text-embedding-qwen3", true},
		{"text-embedding-qwen3-embedding-0.6b", "qwen3-embedding-4b-dwq", false},
		{"", "x", true},
	} {
		if isSameModel(c.served, c.configured) != c.isSame {
			t.Errorf("%+v", c)
		}
	}
}

func TestEndpointsOfMachinesAreRefused(t *testing.T) {
	for _, endpoint := range []string{
		"http://169.254.169.254/v1", "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/", "http://metadata.google.internal", "http://metadata.goog./",
		"http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://2852039166/", "http://0xa9fea9fe/", "http://169.254.43518/", "http://0251.254.169.254/", "not a url", "ftp://a/", "",
	} {
		if check(endpoint) == nil {
			t.Errorf("%s is allowed", endpoint)
		}
	}
	for _, endpoint := range []string{"http://localhost:11434/v1", "http://10.0.0.5", "https://api.openai.com/v1", "http://[::1]:8080/", "http://127.1/"} {
		if err := check(endpoint); err != nil {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

func serve(t *testing.T, cfg schema.Embedding, answer http.HandlerFunc) (s *Service, requests *int) {
	t.Helper()
	requests = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests++
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	cfg.Endpoint = server.URL + "/v1/"
	s, err := New(cfg, nil)
	must(t, err)
	return s, requests
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRequestHoldsModelTextsAndKey(t *testing.T) {
	cfg := openAI("")
	cfg.APIKey, cfg.InputType, cfg.Truncate, cfg.MaxInputTokens = "key-1", "query", "END", 4
	s, _ := serve(t, cfg, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		const want = `{"model":"small","input":["one","a text is i"],"input_type":"query","truncate":"END"}`
		if r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer key-1" || string(body) != want {
			t.Errorf("%s %s %q\n%s", r.Method, r.URL, r.Header.Get("Authorization"), body)
		}
		fmt.Fprint(w, `{"model":"small","data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}]}`)
	})
	got, err := s.Embed(t.Context(), []string{"one", "a text is ié, and is cut"})
	must(t, err)
	if fmt.Sprint(got) != "[[0.6 0.8] [0 1]]" {
		t.Error(got)
	}
}

func TestSecretsAreNotSent(t *testing.T) {
	const token = "ghp_x7Kq2mWv9ZrT4bNc8YpL3sDf6GhJ1aQeUiOo"
	s, _ := serve(t, openAI(""), func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), token) || !strings.Contains(string(body), "GitHub token") {
			t.Errorf("%s", body)
		}
		fmt.Fprint(w, `{"data":[{"embedding":[1]}]}`)
	})
	_, err := s.Embed(t.Context(), []string{"the token is " + token})
	must(t, err)
}

func TestBadAnswersAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ answer, says string }{
		"another model":      {`{"model":"other","data":[{"embedding":[1]},{"embedding":[1]}]}`, `from the model "other", and "small" is configured`},
		"too few":            {`{"data":[{"embedding":[1]}]}`, "1 vector for 2 texts"},
		"too many":           {`{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}`, "3 vectors for 2 texts"},
		"dimensions differ":  {`{"data":[{"embedding":[1]},{"embedding":[1,2]}]}`, "1 and 2 dimensions"},
		"NaN":                {`{"data":[{"embedding":[NaN]},{"embedding":[1]}]}`, "no vectors"},
		"overflow":           {`{"data":[{"embedding":[1e39]},{"embedding":[1]}]}`, "refused"},
		"zero":               {`{"data":[{"embedding":[0,0]},{"embedding":[1,1]}]}`, "no direction"},
		"text":               {`{"data":[{"embedding":"AACAPw=="},{"embedding":[1]}]}`, "no vectors"},
		"no JSON":            {`<html>`, "no vectors"},
		"nothing":            {``, "no vectors"},
		"index twice":        {`{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, "index 1"},
		"index out of range": {`{"data":[{"index":2,"embedding":[1]},{"index":0,"embedding":[1]}]}`, "index 2"},
		"negative index":     {`{"data":[{"index":-1,"embedding":[1]},{"index":0,"embedding":[1]}]}`, "index -1"},
		"all empty":          {`{"data":[{"embedding":null},{}]}`, "are empty"},
		"too many numbers":   {`{"data":[{"embedding":[1` + strings.Repeat(",1", maxDimensions) + `]},{"embedding":[1]}]}`, "8193 dimensions"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := serve(t, openAI(""), func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.answer) })
			got, err := s.Embed(t.Context(), []string{"a", "b"})
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), c.says) || got != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestSomeVectorsMayBeMissing(t *testing.T) {
	s, _ := serve(t, openAI(""), func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"embedding":null},{"embedding":[5]}]}`)
	})
	got, err := s.Embed(t.Context(), []string{"a", "b"})
	must(t, err)
	if got[0] != nil || len(got[1]) != 1 {
		t.Error(got)
	}
}

// A hostile server sends a gigabyte. Only the beginning is read.
func TestEndlessAnswerIsCutOff(t *testing.T) {
	sent := make(chan int, 1)
	s, _ := serve(t, openAI(""), func(w http.ResponseWriter, _ *http.Request) {
		n, block := 0, []byte(strings.Repeat(" ", 1<<20))
		for range 1 << 10 {
			if _, err := w.Write(block); err != nil {
				break
			}
			n++
		}
		sent <- n
	})
	_, err := s.Embed(t.Context(), []string{"a"})
	if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "longer than") {
		t.Error(err)
	}
	if n := <-sent; n > 64 {
		t.Errorf("%d MB were sent", n)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	target, asked := serve(t, openAI(""), func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[{"embedding":[1]}]}`) })
	s, _ := serve(t, openAI(""), func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.cfg.Endpoint+"/embeddings", http.StatusTemporaryRedirect)
	})
	var refused *RefusedError
	if _, err := s.Embed(t.Context(), []string{"a"}); !errors.As(err, &refused) || refused.Status != 307 || *asked != 0 {
		t.Errorf("%v, %d requests", err, *asked)
	}
}

func TestErrorShowsTheReasonButNotTheKey(t *testing.T) {
	cfg := openAI("")
	cfg.APIKey = "key-of-mine"
	s, _ := serve(t, cfg, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, "wrong \x1b[31mkey: key-of-mine "+strings.Repeat("x", 10_000))
	})
	_, err := s.Embed(t.Context(), []string{"a"})
	if err == nil || !strings.Contains(err.Error(), "status 401: wrong key: [redacted]") || strings.Contains(err.Error(), "key-of-mine") || len(err.Error()) > 400 {
		t.Error(err)
	}
}

// `answers` is a transport that gives these answers in order, and then repeats
// the last one.
type answers []func(*http.Request) (*http.Response, error)

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	first := (*a)[0]
	if len(*a) > 1 {
		*a = (*a)[1:]
	}
	return first(r)
}

func status(code int, body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func broken(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

func hanging(d time.Duration) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(d):
			return status(500, "late")(r)
		}
	}
}

const good = `{"data":[{"embedding":[1]}]}`

func scripted(t *testing.T, script ...func(*http.Request) (*http.Response, error)) (*Service, *int) {
	t.Helper()
	n := 0
	counted := make(answers, len(script))
	for i, f := range script {
		counted[i] = func(r *http.Request) (*http.Response, error) { n++; return f(r) }
	}
	s, err := New(openAI("http://embeddings.test/v1"), &counted)
	must(t, err)
	return s, &n
}

func TestPatienceEndsWhereItDoesNotHelp(t *testing.T) {
	for name, c := range map[string]struct {
		script []func(*http.Request) (*http.Response, error)
		tries  int
		took   time.Duration
		works  bool
	}{
		"works after two failures": {[]func(*http.Request) (*http.Response, error){broken, status(503, ""), status(200, good)}, 3, 750 * time.Millisecond, true},
		"too many requests":        {[]func(*http.Request) (*http.Response, error){status(429, ""), status(200, good)}, 2, 250 * time.Millisecond, true},
		"dead":                     {[]func(*http.Request) (*http.Response, error){broken}, 3, 750 * time.Millisecond, false},
		"wrong key":                {[]func(*http.Request) (*http.Response, error){status(401, "")}, 1, 0, false},
		"wrong model":              {[]func(*http.Request) (*http.Response, error){status(200, `{"model":"other","data":[{"embedding":[1]}]}`)}, 1, 0, false},
		"slow":                     {[]func(*http.Request) (*http.Response, error){hanging(11 * time.Second)}, 1, 11 * time.Second, false},
		"hangs":                    {[]func(*http.Request) (*http.Response, error){hanging(time.Hour)}, 1, requestTimeout, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, tries := scripted(t, c.script...)
				started := time.Now()
				_, err := s.EmbedPatiently(t.Context(), []string{"a"})
				if took := time.Since(started); (err == nil) != c.works || *tries != c.tries || took != c.took {
					t.Errorf("%v after %d tries and %s", err, *tries, took)
				}
			})
		})
	}
}

func TestBreakerLeavesAFailingServiceAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tries := scripted(t, broken, broken, broken, broken, status(200, good))
		ask := func() error {
			_, err := s.Embed(t.Context(), []string{"a"})
			return err
		}
		for range 3 {
			if err := ask(); err == nil || errors.Is(err, ErrOpen) {
				t.Fatal(err)
			}
		}
		if err := ask(); !errors.Is(err, ErrOpen) || *tries != 3 {
			t.Errorf("%v after %d tries", err, *tries)
		}
		time.Sleep(openSpan)
		if err := ask(); err == nil || errors.Is(err, ErrOpen) { // the trial fails
			t.Error(err)
		}
		if err := ask(); !errors.Is(err, ErrOpen) || *tries != 4 {
			t.Errorf("%v after %d tries", err, *tries)
		}
		time.Sleep(openSpan)
		for range 2 {
			must(t, ask())
		}
	})
}

func TestOneRequestTriesTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tries := scripted(t, broken, broken, broken, hanging(5*time.Second), status(200, good))
		for range 3 {
			_, _ = s.Embed(t.Context(), []string{"a"})
		}
		time.Sleep(openSpan)
		ctx, give := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := s.Embed(ctx, []string{"a"})
			done <- err
		}()
		synctest.Wait()
		if _, err := s.Embed(t.Context(), []string{"a"}); !errors.Is(err, ErrOpen) || *tries != 4 {
			t.Errorf("%v after %d tries", err, *tries)
		}
		give()
		<-done
		_, err := s.Embed(t.Context(), []string{"a"}) // a cancelled request is no failure, so the next request may try the service
		must(t, err)
	})
}

func TestRefusedTextsDoNotOpenTheBreaker(t *testing.T) {
	s, tries := scripted(t, status(400, "too long"))
	for range 5 {
		_, err := s.EmbedPatiently(t.Context(), []string{"a"})
		var refused *RefusedError
		if !errors.As(err, &refused) || !refused.IsAboutTexts() {
			t.Error(err)
		}
	}
	if *tries != 5 {
		t.Errorf("%d tries", *tries)
	}
}

func TestFailuresLongAgoDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tries := scripted(t, broken)
		for range 6 {
			_, _ = s.Embed(t.Context(), []string{"a"})
			time.Sleep(failureSpan/2 + time.Second)
		}
		if *tries != 6 {
			t.Errorf("%d tries", *tries)
		}
	})
}
