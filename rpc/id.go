package rpc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/magicctx/magicctx-host/internal/json"
)

// JSON-RPC lets a client choose any number or string as an id. The jsonrpc2 library supports only strings, and numbers
// from 0 to 2^63-1: it answers -1 as 18446744073709551615, and closes the connection at 1.5. So this package gives the
// library any other id as a string: foreignID and the id's JSON text, for example "\x00-1" for -1.
const foreignID = "\x00"

// envelopeID returns the id in the form that the library accepts. If the id is not a number, a string or null, the
// error is errMalformedFrame.
func envelopeID(id json.Value) (json.Value, error) {
	if isNull(id) {
		return id, nil
	}
	if strings.ContainsRune("{[tf", rune(id[0])) {
		return nil, fmt.Errorf("%w: id %.20q is neither a number nor a string", errMalformedFrame, string(id))
	}
	if isLibraryID(id) {
		return id, nil
	}
	return json.Quote(foreignID + string(id)), nil
}

// isLibraryID reports whether the library can use the id unchanged. A client's own string may begin with foreignID. If
// it stayed unchanged, encodeID would return it without its quotes, for example as a number. So isLibraryID returns
// false for it.
func isLibraryID(id json.Value) bool {
	if id[0] != '"' {
		n, err := strconv.ParseInt(string(id), 10, 64)
		return err == nil && n >= 0 && strconv.FormatInt(n, 10) == string(id)
	}
	var text string
	return json.Unmarshal(id, &text) == nil && !strings.HasPrefix(text, foreignID)
}

// decodeID reads an id in params, for example the id of a call to be cancelled.
func decodeID(id json.Value) (jsonrpc2.ID, error) {
	var decoded jsonrpc2.ID
	known, err := envelopeID(id)
	if err == nil {
		err = decoded.UnmarshalJSON(known)
	}
	return decoded, err
}

// encodeID returns an id as the client wrote it.
func encodeID(id jsonrpc2.ID) json.Value {
	if text, ok := strings.CutPrefix(id.Str, foreignID); ok && id.IsString {
		return json.Value(text)
	}
	if id.IsString {
		return json.Quote(id.Str)
	}
	return json.Value(fmt.Appendf(nil, "%d", id.Num))
}
