#pragma once

#include <openssl/x509.h>

#include <string>
#include <vector>

/// What OpenSSL knows, as text for messages.
namespace tessera::coord {

/// "Nov 29 21:00:00 2026 GMT".
std::string time_text(const ASN1_TIME* time);
/// "CN = name, O = company".
std::string name_text(X509_NAME* name);
/// The URI names of a certificate.
std::vector<std::string> uri_names(X509* certificate);
/// All alternative names: "DNS:localhost, IP Address:127.0.0.1, URI:spiffe://x/y", or "none".
std::string alternative_names(X509* certificate);
/// The oldest error of this thread's queue, which is emptied; "" where there is none.
std::string openssl_error();

}  // namespace tessera::coord
