#include "tessera/coord/mtls_testing.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdio>

#include "tessera/base/status.h"

namespace tessera::coord {
namespace {

X509* new_certificate(EVP_PKEY* key, const CertificateRequest& request) {
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial));
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), request.valid_from_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate), request.valid_until_s);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(request.name.c_str()), -1, -1,
                             0);
  return certificate;
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  CHECK_MSG(extension != nullptr, "bad certificate extension");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Aside and renamed, as whoever rotates certificates does it.
template <typename Write>
void write_file(const std::string& path, Write write) {
  const std::string aside = path + ".new";
  FILE* file = std::fopen(aside.c_str(), "w");
  CHECK(file != nullptr);
  CHECK(write(file) == 1);
  std::fclose(file);
  CHECK(std::rename(aside.c_str(), path.c_str()) == 0);
}

}  // namespace

struct TestAuthority::Keys {
  EVP_PKEY* key;
  X509* certificate;
};

TestAuthority::TestAuthority(std::string folder, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)), keys_(new Keys) {
  keys_->key = EVP_EC_gen("P-256");
  keys_->certificate = new_certificate(keys_->key, {.name = name_ + " CA"});
  X509* self = keys_->certificate;
  X509_set_issuer_name(self, X509_get_subject_name(self));
  extend(self, self, NID_basic_constraints, "critical,CA:TRUE");
  extend(self, self, NID_subject_key_identifier, "hash");
  X509_sign(self, keys_->key, EVP_sha256());
  write_file(ca_file(), [&](FILE* file) { return PEM_write_X509(file, self); });
}

TestAuthority::~TestAuthority() {
  X509_free(keys_->certificate);
  EVP_PKEY_free(keys_->key);
  delete keys_;
}

void TestAuthority::issue(const std::string& file, const CertificateRequest& request) const {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = new_certificate(key, request);
  X509_set_issuer_name(certificate, X509_get_subject_name(keys_->certificate));
  extend(certificate, keys_->certificate, NID_basic_constraints, "CA:FALSE");
  extend(certificate, keys_->certificate, NID_subject_alt_name, request.alternative_names);
  extend(certificate, keys_->certificate, NID_authority_key_identifier, "keyid");
  X509_sign(certificate, keys_->key, EVP_sha256());
  const std::string path = folder_ + "/" + file;
  write_file(path + ".key", [&](FILE* out) {
    return PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
  write_file(path + ".crt", [&](FILE* out) { return PEM_write_X509(out, certificate); });
  X509_free(certificate);
  EVP_PKEY_free(key);
}

}  // namespace tessera::coord
