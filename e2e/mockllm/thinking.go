package mockllm

type BlockState int

const (
	// BlockValid: everything before the block is unchanged.
	BlockValid BlockState = iota
	// BlockInvalid: the server did not make the block, or the block or something before it has changed.
	BlockInvalid
	// BlockForeign: another model made the block. The API drops it silently.
	BlockForeign
)

type BoundBlock struct {
	// Where is the place in the API's notation, for example "messages.3.content.0".
	Where string
	// If the server did not make the block, Made is 0. Otherwise Made is the Seq of the request whose answer
	// contained the block.
	Made  int
	State BlockState
	Why   string
}

// A block may be valid in the conversation's last request, or come with its answer. If the next request does
// not contain this block, the block is missing. An Absence says why.
type Absence int

const (
	// Lost: everything before the block is unchanged, and the rest of its answer follows. So the client could
	// have sent the block.
	Lost Absence = iota
	// Cut: something before the block has changed, so the block would have been invalid.
	Cut
	// Gone: the request no longer contains the block's answer.
	Gone
)

type MissingBlock struct {
	Made int
	How  Absence
}

type ThinkingCheck struct {
	Blocks  []BoundBlock
	Missing []MissingBlock
}

func (t ThinkingCheck) Count(state BlockState) (n int) {
	for _, b := range t.Blocks {
		if b.State == state {
			n++
		}
	}
	return n
}

func (t ThinkingCheck) CountMissing(how Absence) (n int) {
	for _, b := range t.Missing {
		if b.How == how {
			n++
		}
	}
	return n
}

// A ThinkingCount adds up the requests of one session to binding models.
type ThinkingCount struct {
	Requests, Refused int
	Made              int
	// Sent counts the thinking blocks of all requests, by their state.
	Sent, Valid, Invalid, Foreign int
	// Lost, Cut and Gone count each missing block once.
	Lost, Cut, Gone int
}
