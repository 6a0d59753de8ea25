package history

import "crypto/sha256"

// fingerprint identifies the messages from start up to end (exclusive) by their
// ordinals, keys and contents. It compares contents and not lengths, because an edit may
// keep the length of a text.
func fingerprint(m *Messages, start, end int) uint64 {
	d := digest{sha256.New()}
	for _, msg := range m.Between(start, end) {
		d.number(msg.Ordinal)
		d.add(msg.Key)
		d.number(int(msg.Digest))
	}
	return d.sum()
}
