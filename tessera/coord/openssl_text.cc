#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tessera/coord/openssl_text_internal.h"

namespace tessera::coord {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

std::string taken(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, size > 0 ? static_cast<size_t>(size) : 0);
}

}  // namespace

std::string time_text(const ASN1_TIME* time) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  ASN1_TIME_print(bio.get(), time);
  return taken(bio);
}

std::string name_text(X509_NAME* name) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_ONELINE);
  return taken(bio);
}

std::vector<std::string> uri_names(X509* certificate) {
  std::vector<std::string> names;
  auto* all = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; all && i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all, i);
    if (name->type != GEN_URI) continue;
    const ASN1_STRING* text = name->d.uniformResourceIdentifier;
    names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<size_t>(ASN1_STRING_length(text)));
  }
  GENERAL_NAMES_free(all);
  return names;
}

std::string alternative_names(X509* certificate) {
  const int index = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1);
  if (index < 0) return "none";
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  X509V3_EXT_print(bio.get(), X509_get_ext(certificate, index), 0, 0);
  return absl::StrReplaceAll(taken(bio), {{"\n", " "}});
}

std::string openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "";
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : "";
}

}  // namespace tessera::coord
