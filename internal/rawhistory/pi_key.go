package rawhistory

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
)

// piKeyOf returns the key that adapters/pi-shim/src/steps.ts gives to the message, before keys are numbered. Both
// implementations are tested with testdata/pi-steps.json. The shim hashes the output of JSON.stringify. Pi writes its
// session file with JSON.stringify as well, so the host can hash the text in the file.
func piKeyOf(message json.Value) (role, key string) {
	var m struct {
		Role       json.Value `json:"role"`
		Timestamp  json.Value `json:"timestamp"`
		ToolCallID json.Value `json:"toolCallId"`
		CustomType json.Value `json:"customType"`
		FromID     json.Value `json:"fromId"`
		Content    json.Value `json:"content"`
	}
	_ = json.Unmarshal(message, &m) // a value that is not an object has no members, as in JavaScript
	role = interpolated(m.Role)
	switch role {
	case "toolResult":
		return role, "toolResult:" + interpolated(m.Timestamp) + ":" + interpolated(m.ToolCallID)
	case "custom":
		return role, "custom:" + interpolated(m.CustomType) + ":" + shortHash(m.Content)
	case "branchSummary":
		return role, "branchSummary:" + interpolated(m.FromID)
	}
	if m.Timestamp.Kind() == '0' {
		return role, role + ":" + interpolated(m.Timestamp)
	}
	return role, role + ":" + shortHash(message)
}

// The function `interpolated` returns the text of a value in a JavaScript template literal.
func interpolated(v json.Value) string {
	var text string
	var number float64
	switch {
	case len(v) == 0:
		return "undefined"
	case v.Kind() == '"' && json.Unmarshal(v, &text) == nil:
		return text
	case v.Kind() == '0' && json.Unmarshal(v, &number) == nil:
		return strconv.FormatFloat(number, 'f', -1, 64)
	case v.Kind() == '{':
		return "[object Object]"
	}
	return string(v)
}

func shortHash(v json.Value) string {
	sum := sha256.Sum256(v)
	return hex.EncodeToString(sum[:])[:12]
}

func unixMilliseconds(timestamp string) json.Value {
	t, err := time.Parse(time.RFC3339Nano, timestamp)
	if err != nil {
		return nil
	}
	return json.Value(strconv.FormatInt(t.UnixMilli(), 10))
}
