/** Why a Kubernetes API server can't be used as it is, and what to do: its certificate, our credentials, nobody who listens. Pure. */
import { errorText } from '../../api/error-text.ts';
import { withoutErrno } from '../../api/without-errno.ts';

const CLOCK = 'or set the clock of this machine if that is wrong';
const UNKNOWN_AUTHORITY =
  'its certificate is of an authority that is not the one given there; give that of this API server (certificate-authority-data, or ca.crt of the service account), or correct the address';

const CLOSED =
  'the connection is closed before the server says who it is; where a load balancer or a proxy stands there, see whether it has an API server that runs';

/** By the code that Node.js gives. */
const OF_CERTIFICATE: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: `its certificate has expired; renew it at the API server, ${CLOCK}`,
  CERT_NOT_YET_VALID: `its certificate is not valid yet; wait until it is, ${CLOCK}`,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  CERT_SIGNATURE_FAILURE: UNKNOWN_AUTHORITY,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for other names than the one in that address; correct the address, or give the name (tls-server-name)',
};

/** The error of a connection that ended before TLS stood: ECONNRESET or EPIPE, by whether the end came before, while or after we wrote. */
export const beforeHandshake = (error: Error): Error =>
  'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
    ? new Error(CLOSED)
    : error;

/** Of a name with several addresses each has an error of its own, and the sum of them says nothing. */
const textsOf = (error: unknown): readonly string[] =>
  error instanceof AggregateError ? error.errors.map(errorText) : [errorText(error)];

/** Why a request got no answer of the server, in words that are the same at each try. */
export function whyUnanswered(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (Object.hasOwn(OF_CERTIFICATE, code)) return OF_CERTIFICATE[code] ?? '';
  return [...new Set(textsOf(error).map(withoutErrno))].join('; ');
}

/** What to do about the answer 401; `source`: where the credentials come from. */
export const unknownCredentials = (source: string): string =>
  `; the API server does not know the credentials of ${source}: the token, or the client certificate, has ended, was revoked, or is of another cluster; give others there, which are taken without a restart`;
