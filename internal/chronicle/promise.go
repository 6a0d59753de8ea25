package chronicle

type Speaker string

const (
	ByUser  Speaker = "user"
	ByAgent Speaker = "agent"
)

// A Promise is a sentence such as "TODO before the release: remove the flag".
type Promise struct {
	Words   string
	By      Speaker
	Message int
}

type Closing struct {
	ID      int64 // of its note
	IsDone  bool
	Message int // ordinal
}
