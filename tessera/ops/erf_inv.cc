#include <cmath>
#include <limits>

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/random_internal.h"

namespace tessera::random_internal {
namespace {

// Coefficients of erf⁻¹(x)/x in w = -log(1 - x²): Giles (2010), table 1, highest power first. The
// first column is for w < 5 in w - 2.5, the second for the tails in √w - 3.
constexpr double kCentral[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                               -4.39150654e-06, 0.00021858087,  -0.00125372503,
                               -0.00417768164,  0.246640727,    1.50140941};
constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                            -0.00367342844,  0.00573950773,  -0.0076224613,
                            0.00943887047,   1.00167406,     2.83297682};

Value giles(Value x, Value w) {
  const Value central = less(w, 5.0);
  const Value t = select(central, w - 2.5, sqrt(w) - 3.0);
  Value p;
  for (int i = 0; i < 9; ++i) {
    const Value c = select(central, scalar_like(x, kCentral[i]), scalar_like(x, kTail[i]));
    p = p.defined() ? c + p * t : c;
  }
  return p * x;
}

// One step of Halley's method on erf(y) = x: the error is cubed.
Value halley(Value x, Value y) {
  const double slope = 2 / std::sqrt(std::acos(-1.0));
  const Value newton = (erf(y) - x) / (exp(-square(y)) * slope);
  return y - newton / (newton * y + 1.0);
}

}  // namespace

Value erf_inv_values(Value x) {
  const bool wide = x.dtype() == DType::kF64;
  const Value w = wide ? -log((1.0 - x) * (x + 1.0)) : -log1p(x * -x);
  Value y = giles(x, w);
  if (wide) y = halley(x, halley(x, y));
  const Value at_end = equal(abs(x), 1.0);
  return select(at_end, x * std::numeric_limits<double>::infinity(), y);
}

}  // namespace tessera::random_internal
