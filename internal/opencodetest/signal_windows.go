package opencodetest

import "os"

// Windows knows no polite signal.
var terminate = os.Kill
