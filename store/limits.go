package store

// Limits of what a job can carry. Over one of them a request is refused with an
// *[InvalidError] that names the field; nothing is cut in silence.
const (
	MaxArgs     = 1 << 20 // bytes of JSON text
	MaxResult   = 1 << 20 // bytes of JSON text
	MaxKind     = 1024    // bytes
	MaxQueue    = 1024    // bytes
	MaxKey      = 1024    // bytes
	MaxReason   = 16 << 10
	MaxActor    = 255 // bytes
	MaxTags     = 32
	MaxTag      = 255     // bytes
	MaxDepth    = 1000    // nesting of args and results
	MaxAttempts = 1000000 // the largest retry budget
	MaxBulk     = 50000   // jobs of one EnqueueMany

	// DefaultAttempts is the retry budget of a job that names none.
	DefaultAttempts = 10
	// DefaultQueue is where a job waits that names no queue.
	DefaultQueue = "default"
)

// What is kept of an attempt's error and output; longer texts are cut.
const (
	maxErrorClass   = 255
	maxErrorMessage = 16 << 10
	maxErrorTrace   = 64 << 10
	maxOutput       = 16 << 10
)
