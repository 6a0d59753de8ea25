package daemon

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// The token file contains handshakeVersion, so that a later release can use another handshake.
//
// Both ends know the token, and each proves it without sending it. All values are 32 bytes, written as 64 hexadecimal
// digits:
//
//	client to host: nonce C
//	host to client: nonce H, HMAC-SHA256(token, "host" C H)
//	client to host: HMAC-SHA256(token, "client" C H)
//
// The host proves itself first, so a program that has taken over the port of a dead host gets only a random number.
const handshakeVersion = 1

const hexBytes = 2 * sha256.Size

var (
	errHostUnproven   = fmt.Errorf("%w: it does not know the token", ErrForeign)
	errClientUnproven = errors.New("the client does not know the token")
)

func newNonce() string {
	nonce := make([]byte, sha256.Size)
	rand.Read(nonce) // this never fails
	return hex.EncodeToString(nonce)
}

func proof(token, side, clientNonce, hostNonce string) string {
	mac := hmac.New(sha256.New, []byte(token))
	io.WriteString(mac, side+clientNonce+hostNonce) // this never fails
	return hex.EncodeToString(mac.Sum(nil))
}

func greetHost(conn io.ReadWriter, token string) error {
	clientNonce := newNonce()
	if _, err := io.WriteString(conn, clientNonce); err != nil {
		return fmt.Errorf("send nonce: %w", err)
	}
	hostNonce, err := readHex(conn)
	if err != nil {
		return fmt.Errorf("read the host's nonce: %w", err)
	}
	proven, err := readHex(conn)
	if err != nil {
		return fmt.Errorf("read the host's proof: %w", err)
	}
	if !hmac.Equal([]byte(proven), []byte(proof(token, "host", clientNonce, hostNonce))) {
		return errHostUnproven
	}
	if _, err := io.WriteString(conn, proof(token, "client", clientNonce, hostNonce)); err != nil {
		return fmt.Errorf("send proof: %w", err)
	}
	return nil
}

func greetClient(conn io.ReadWriter, token string) error {
	clientNonce, err := readHex(conn)
	if err != nil {
		return fmt.Errorf("read the client's nonce: %w", err)
	}
	hostNonce := newNonce()
	if _, err := io.WriteString(conn, hostNonce+proof(token, "host", clientNonce, hostNonce)); err != nil {
		return fmt.Errorf("send proof: %w", err)
	}
	proven, err := readHex(conn)
	if err != nil {
		return fmt.Errorf("read the client's proof: %w", err)
	}
	if !hmac.Equal([]byte(proven), []byte(proof(token, "client", clientNonce, hostNonce))) {
		return errClientUnproven
	}
	return nil
}

func readHex(r io.Reader) (string, error) {
	text := make([]byte, hexBytes)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", err
	}
	return string(text), nil
}
