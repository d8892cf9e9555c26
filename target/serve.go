package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The server's own limits. A checkout's body is small and comes at once; the write limit is each handler's own.
const (
	readTimeout   = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	shutdownLimit = 10 * time.Second
)

// Serve answers on l until ctx ends, then refuses new connections, waits up to 10 s for the checkouts under way, and
// closes the pools. Its error is nil after an orderly end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.handler,
		ReadTimeout:       readTimeout,
		ReadHeaderTimeout: readTimeout,
		WriteTimeout:      s.cfg.Timeout + readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serve: %w", err), s.Close())
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	err := server.Shutdown(limit)
	if err != nil {
		err = errors.Join(fmt.Errorf("shut down: %w", err), server.Close())
	}
	return errors.Join(err, s.Close())
}
