/** Why a server that answers can't be used as it is, and what to do: another database, certificates that don't fit. Pure. */
import type { OvsdbError } from 'ovsdb-client-ts';

export interface RefusedConnection {
  readonly why: string;
  readonly remedy: string;
}

const CLOCK = 'or set the clock of this machine if that is wrong';
const UNKNOWN_AUTHORITY: RefusedConnection = {
  why: 'the certificate of the server is of an authority that is not in --ca-cert',
  remedy: 'give that of the authority that signed it',
};

/** By the code that Node.js gives: the certificate of the server as we find it. */
const OF_SERVER: Readonly<Record<string, RefusedConnection>> = {
  CERT_HAS_EXPIRED: {
    why: 'the certificate of the server has expired',
    remedy: `renew it, ${CLOCK}`,
  },
  CERT_NOT_YET_VALID: {
    why: 'the certificate of the server is not valid yet',
    remedy: `wait until it is, ${CLOCK}`,
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
};

/** By OpenSSL's text of the server's alert, which is preceded by a number that changes from try to try: our certificate as the server finds it. */
const OF_US: readonly (readonly [RegExp, RefusedConnection])[] = [
  [
    /alert unknown ca\b/,
    {
      why: 'the server does not know the authority of our certificate',
      remedy: 'give a --certificate and its --private-key that the authority of the server signed',
    },
  ],
  [
    /alert certificate expired\b/,
    {
      why: 'the server says that our certificate has expired',
      remedy:
        'renew --certificate, or set the clock of this machine or the server’s if that is wrong',
    },
  ],
];

/** Over TLS 1.3 a server that refuses our certificate closes the connection: whether its alert is read first is chance. */
const CLOSED: RefusedConnection = {
  why: 'the server closes the connection',
  remedy:
    'see in the log of its ovsdb-server whether it refuses our --certificate: its authority, or its end',
};

const LACKING = /^the server has no database \w+ \(it has ([^)]*)\)/;

/** The databases that a server has in place of the one that was asked for. None of a server that has but its own `_Server`: the others may be yet to come. */
export const otherDatabases = ({ details }: OvsdbError): readonly string[] =>
  (LACKING.exec(details)?.[1] ?? '')
    .split(', ')
    .filter((name) => name !== '' && name !== '_Server');

/** What is known of a connection that failed, to the remotes of that flag; undefined where the server may just be away. */
export function refusedConnection(
  error: OvsdbError,
  flag: string,
  remotes: string,
): RefusedConnection | undefined {
  const { details, cause } = error;
  if (details.startsWith('the server has no database '))
    return {
      why: details,
      remedy: `correct ${flag}: it leads to the server of another database`,
    };
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (Object.hasOwn(OF_SERVER, code)) return OF_SERVER[code];
  const ofUs = OF_US.find(([text]) => text.test(details))?.[1];
  return ofUs ?? (isClosing(error) && remotes.includes('ssl:') ? CLOSED : undefined);
}

/** A connection that the other end closed: what is left of a refusal where the alert comes too late to be read. */
export const isClosing = ({ cause }: OvsdbError): boolean =>
  cause instanceof Error && 'code' in cause && ['ECONNRESET', 'EPIPE'].includes(String(cause.code));
