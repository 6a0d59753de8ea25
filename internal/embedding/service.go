package embedding

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/secret"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	requestTimeout = 30 * time.Second
	maxBatch       = 32 // texts of one request
	maxDimensions  = 8192
	// For each text, an answer may have maxBytesPerText bytes. This is enough for 8,192 numbers of 22 characters, each
	// with a comma.
	maxBytesPerText = 192 << 10
	maxShown        = 240
	// bytesPerToken is a low estimate. The host cuts a text to this number of bytes for each token that the model
	// accepts, so the cut text is never too long.
	bytesPerToken = 3
)

// A Service is safe for concurrent use.
type Service struct {
	cfg     schema.Embedding
	client  http.Client
	breaker breaker
}

// New returns an error if the endpoint is not allowed (see the function `check`). If transport is nil, the Service uses
// the network.
func New(cfg schema.Embedding, transport http.RoundTripper) (*Service, error) {
	cfg.Endpoint = strings.TrimRight(strings.TrimSpace(cfg.Endpoint), "/")
	if err := check(cfg.Endpoint); err != nil {
		return nil, err
	}
	// A redirect could lead the texts and the key to another host.
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Service{cfg: cfg, client: http.Client{Transport: transport, CheckRedirect: refuse}}, nil
}

func (s *Service) Model() string { return s.cfg.Model }

// Space names the space of the service's vectors: two vectors can be compared if they have the same Space. The original
// plugin builds the same string.
func (s *Service) Space() string { return spaceOf(s.cfg) }

func spaceOf(cfg schema.Embedding) string {
	const prefix = "embedding-provider:"
	if cfg.Provider == schema.EmbeddingOff {
		return prefix + cfg.Provider
	}
	text, _ := json.Marshal(struct { // texts always encode
		Provider      string `json:"provider"`
		Model         string `json:"model"`
		Endpoint      string `json:"endpoint"`
		APIKeyPresent bool   `json:"apiKeyPresent"`
		InputType     string `json:"inputType"`
	}{cfg.Provider, cfg.Model, strings.TrimRight(strings.TrimSpace(cfg.Endpoint), "/"), cfg.APIKey != "", cfg.InputType})
	hash := md5.Sum([]byte(strings.Join(strings.Fields(strings.ToLower(string(text))), " ")))
	return prefix + hex.EncodeToString(hash[:])
}

type RefusedError struct {
	Status int
	Text   string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the embedding service answers with status %d: %s", e.Status, e.Text)
}

// IsAboutTexts reports whether the service may have refused only these texts. In this case, the service itself works.
func (e *RefusedError) IsAboutTexts() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusUnprocessableEntity
}

func (e *RefusedError) mayPass() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// ErrUnusable means that an answer with a 2xx status cannot be used: it is too long, it is not JSON, it comes from another
// model, or its vectors are missing or invalid.
var ErrUnusable = errors.New("the answer of the embedding service is refused")

// Embed sends one request. It returns a unit vector for each text. If the service has no vector for a text, this vector
// is nil.
func (s *Service) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	leave, err := s.breaker.enter()
	if err != nil {
		return nil, err
	}
	all, err := s.request(ctx, texts)
	var refused *RefusedError
	switch {
	case err == nil, errors.As(err, &refused) && refused.IsAboutTexts():
		leave(succeeded)
	case ctx.Err() != nil: // the caller has given up
		leave(aborted)
	default:
		leave(failed)
	}
	return all, err
}

// EmbedPatiently sends a request at most `attempts` times. The first pause between two attempts is firstPause, and each
// further pause is twice as long. If an attempt took longer than `slow`, the service is overloaded, so the request is
// not sent again.
const (
	attempts   = 3
	firstPause = 250 * time.Millisecond
	slow       = 10 * time.Second
)

// EmbedPatiently is like Embed, but sends a failed request again if it may succeed soon.
func (s *Service) EmbedPatiently(ctx context.Context, texts []string) (all [][]float32, err error) {
	pause := firstPause
	for attempt := range attempts {
		if attempt > 0 {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(pause):
			}
			pause *= 2
		}
		started := time.Now()
		all, err = s.Embed(ctx, texts)
		var refused *RefusedError
		isFinal := errors.Is(err, ErrUnusable) || errors.Is(err, ErrOpen) || errors.As(err, &refused) && !refused.mayPass()
		if err == nil || isFinal || ctx.Err() != nil || time.Since(started) >= slow {
			break
		}
	}
	return all, err
}

func (s *Service) request(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, fmt.Errorf("no answer within %s", requestTimeout))
	defer cancel()
	input := make([]string, len(texts))
	for i, text := range texts {
		input[i] = cut(secret.Redact(text), s.cfg.MaxInputTokens*bytesPerToken)
	}
	body, err := json.Marshal(struct {
		Model     string   `json:"model"`
		Input     []string `json:"input"`
		InputType string   `json:"input_type,omitzero"`
		Truncate  string   `json:"truncate,omitzero"`
	}{s.cfg.Model, input, s.cfg.InputType, s.cfg.Truncate})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.Endpoint+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.cfg.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+s.cfg.APIKey)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("the embedding service cannot be asked: %s", s.shown(cmp.Or(context.Cause(ctx), err).Error()))
	}
	defer response.Body.Close()
	limit := len(texts)*maxBytesPerText + 64<<10
	answer, err := io.ReadAll(io.LimitReader(response.Body, int64(limit)+1))
	switch {
	case response.StatusCode/100 != 2:
		return nil, &RefusedError{response.StatusCode, s.shown(string(answer[:min(len(answer), 8<<10)]))}
	case err != nil:
		return nil, fmt.Errorf("the answer of the embedding service ends early: %s", s.shown(cmp.Or(context.Cause(ctx), err).Error()))
	case len(answer) > limit:
		return nil, fmt.Errorf("%w: it is longer than %s", ErrUnusable, format.Bytes(int64(limit)))
	}
	return s.vectors(answer, len(texts))
}

func (s *Service) vectors(answer []byte, n int) ([][]float32, error) {
	var a struct {
		Model string `json:"model"`
		Data  []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("%w: it holds no vectors: %s", ErrUnusable, s.shown(err.Error()))
	}
	switch {
	case !isSameModel(a.Model, s.cfg.Model):
		return nil, fmt.Errorf("%w: it comes from the model %q, and %q is configured", ErrUnusable, s.shown(a.Model), s.cfg.Model)
	case len(a.Data) != n:
		return nil, fmt.Errorf("%w: it has %s for %s", ErrUnusable, format.Count(len(a.Data), "vector"), format.Count(n, "text"))
	}
	all, dimensions := make([][]float32, n), 0
	for i, d := range a.Data {
		if d.Index != nil {
			i = *d.Index
		}
		switch {
		case i < 0 || i >= n || all[i] != nil:
			return nil, fmt.Errorf("%w: two of its vectors have the index %d, or the index is out of range", ErrUnusable, i)
		case len(d.Embedding) == 0:
			continue
		case len(d.Embedding) > maxDimensions:
			return nil, fmt.Errorf("%w: a vector has %d dimensions", ErrUnusable, len(d.Embedding))
		case dimensions != 0 && len(d.Embedding) != dimensions:
			return nil, fmt.Errorf("%w: its vectors have %d and %d dimensions", ErrUnusable, dimensions, len(d.Embedding))
		case !normalise(d.Embedding):
			return nil, fmt.Errorf("%w: a vector has no direction", ErrUnusable)
		}
		all[i], dimensions = d.Embedding, len(d.Embedding)
	}
	if dimensions == 0 {
		return nil, fmt.Errorf("%w: all of its vectors are empty", ErrUnusable)
	}
	return all, nil
}

func normalise(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if !(length > 0) || math.IsInf(length, 0) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return true
}

// The two names do not have to be equal: some servers shorten the configured name, add a version to it, or name no
// model. But an answer of an entirely different model is refused.
func isSameModel(served, configured string) bool {
	served, configured = strings.ToLower(strings.TrimSpace(served)), strings.ToLower(strings.TrimSpace(configured))
	return strings.Contains(served, configured) || strings.Contains(configured, served)
}

// shown hides the key, because a service may repeat it.
func (s *Service) shown(text string) string {
	if s.cfg.APIKey != "" {
		text = strings.ReplaceAll(text, s.cfg.APIKey, "[redacted]")
	}
	return format.Shorten(format.Clean(secret.Redact(text)), maxShown)
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
