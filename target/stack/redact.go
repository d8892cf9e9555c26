package stack

import (
	"errors"
	"strings"
)

// redacted returns err with the stack's passwords blanked out of its message. Servers quote statements, and replicas
// their settings, in the logs that our errors quote.
func (s *Stack) redacted(err error) error {
	if err == nil {
		return nil
	}
	message := redact(err.Error(), s.secrets()...)
	if message == err.Error() {
		return err
	}
	return &redactedError{message, err}
}

func redact(text string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[password]")
		}
	}
	return text
}

// A redactedError is matched by [errors.Is] as the error that it stands for, but isn't printed as it.
type redactedError struct {
	message string
	cause   error
}

func (e *redactedError) Error() string        { return e.message }
func (e *redactedError) Is(target error) bool { return errors.Is(e.cause, target) }
