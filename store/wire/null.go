package wire

import (
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Instant is a time as RFC 3339 in UTC.
func Instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Decimal is a number of 64 bits as text, as ids are written.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }

// OrNull is a value, and null for the zero value.
func OrNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// InstantOrNull is [Instant], and null for the zero time.
func InstantOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return OrNull(Instant(t))
}

// DecimalOrNull is [Decimal], and null for 0.
func DecimalOrNull(n int64) *string {
	if n == 0 {
		return nil
	}
	return OrNull(Decimal(n))
}

// SpanOrNull is a duration as Go writes it, and null for 0.
func SpanOrNull(d time.Duration) *string {
	if d == 0 {
		return nil
	}
	return OrNull(d.String())
}

func idOrNull(id uuid.UUID) *string {
	if id == uuid.Nil {
		return nil
	}
	return OrNull(id.String())
}

// list is a list that is empty rather than null.
func list(all []string) []string {
	if all == nil {
		return []string{}
	}
	return all
}
