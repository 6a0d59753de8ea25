package mockllm

import (
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/magicctx/magicctx-host/internal/json"
)

// An object is a JSON object. The formats of the providers are large and nested, so Go types for them would only repeat
// the literals below.
type object map[string]any

// An event is one server-sent event. If `data` is a string, it is sent unchanged. Any other value is sent as JSON.
type event struct {
	name string
	data any
}

func (e event) write(w http.ResponseWriter) error {
	data, ok := e.data.(string)
	if !ok {
		raw, err := json.Marshal(e.data)
		if err != nil {
			return fmt.Errorf("encode event %s: %w", e.name, err)
		}
		data = string(raw)
	}
	name := ""
	if e.name != "" {
		name = "event: " + e.name + "\n"
	}
	if _, err := io.WriteString(w, name+"data: "+data+"\n\n"); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, v) // the client has closed the connection
}

func writeError(w http.ResponseWriter, d Dialect, e *HTTPError) {
	maps.Copy(w.Header(), e.Header)
	inner := object{"type": e.Type, "message": e.Message}
	if d == OpenAI {
		writeJSON(w, e.Status, object{"error": inner})
		return
	}
	writeJSON(w, e.Status, object{"type": "error", "error": inner})
}

func chunks(s string, size int) []string {
	if size <= 0 || len(s) <= size {
		return []string{s}
	}
	var out []string
	start := 0
	for i := range s {
		if i-start >= size {
			out = append(out, s[start:i])
			start = i
		}
	}
	return append(out, s[start:])
}

func numberedID(d Dialect, n int) string {
	if d == OpenAI {
		return fmt.Sprintf("call_mock%06d", n)
	}
	return fmt.Sprintf("toolu_mock%06d", n)
}

// In an Anthropic answer without streaming, the arguments of a call must be valid JSON. If a test wants invalid
// arguments, validInput returns them as a JSON string.
func (b Block) validInput() json.Value {
	if v := json.Value(b.input); v.IsValid() {
		return v
	}
	return json.Quote(b.input)
}
