package sqldb

import (
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"
)

// Handshakes remembers the certificates that a server sent last.
type Handshakes struct {
	last atomic.Pointer[[]*x509.Certificate]
}

// Watch sees the certificates of each connection that is made with these settings. Without settings there is no TLS.
func (h *Handshakes) Watch(settings *tls.Config) {
	if settings == nil {
		return
	}
	settings.VerifyConnection = func(state tls.ConnectionState) error {
		h.last.Store(&state.PeerCertificates)
		return nil
	}
}

// Certificates implements scanners.Certified.
func (h *Handshakes) Certificates() []*x509.Certificate {
	if last := h.last.Load(); last != nil {
		return *last
	}
	return nil
}
