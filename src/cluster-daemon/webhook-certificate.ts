/**
 * The certificate that the API server knows our conversion webhook by: made once, shared by all replicas through a
 * Secret, and published to the API server as `caBundle` of the definitions that convert.
 */
import { X509Certificate } from 'node:crypto';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import { isRetryable, StoreError, type Store } from '../store/store.ts';
import { namesHost, selfSigned, type TlsIdentity } from '../process/self-signed.ts';

interface Secret extends KubeObject {
  readonly type?: string;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
}
const SECRETS: ResourceKind<Secret> = {
  apiVersion: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
};

interface Definition extends KubeObject {
  readonly spec: {
    readonly conversion?: {
      readonly webhook?: { readonly clientConfig?: { readonly caBundle?: string } };
    };
  };
}
const DEFINITIONS: ResourceKind<Definition> = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

const FIELD_MANAGER = 'heddle-conversion';
const SECRET_NAME = 'heddle-conversion';
const DAYS = 3650;
/** A certificate that ends sooner than this is replaced. */
const RENEW_BEFORE = 30 * 86_400_000;

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString('utf8');

/** The identity in a Secret, if it is one for `host` that lasts. */
function identityIn(
  secret: Secret | undefined,
  host: string,
  now: number,
): TlsIdentity | undefined {
  const { 'tls.crt': certificate, 'tls.key': key } = secret?.data ?? {};
  if (certificate === undefined || key === undefined) return undefined;
  try {
    const parsed = new X509Certificate(fromBase64(certificate));
    if (!namesHost(parsed, host) || parsed.validToDate.getTime() - now < RENEW_BEFORE)
      return undefined;
    return { certificate: fromBase64(certificate), key: fromBase64(key) };
  } catch {
    return undefined; // not a certificate: as if there were none
  }
}

/** The identity that all replicas share; made if there is none that lasts. */
export async function sharedIdentity(
  store: Pick<Store, 'get' | 'create' | 'patch'>,
  {
    namespace,
    host,
    now,
  }: { readonly namespace: string; readonly host: string; readonly now: number },
  signal: AbortSignal,
): Promise<TlsIdentity> {
  const key = `${namespace}/${SECRET_NAME}`;
  for (;;) {
    const secret = await store.get(SECRETS, key, signal);
    const existing = identityIn(secret, host, now);
    if (existing !== undefined) return existing;
    const created = await selfSigned('conversion webhook', host, DAYS);
    const data = { 'tls.crt': base64(created.certificate), 'tls.key': base64(created.key) };
    const write = { fieldManager: FIELD_MANAGER, signal };
    try {
      if (secret === undefined) {
        const metadata = { name: SECRET_NAME, namespace };
        const object = {
          apiVersion: 'v1',
          kind: 'Secret',
          type: 'kubernetes.io/tls',
          metadata,
          data,
        };
        await store.create(SECRETS, object, write);
      } else {
        const { resourceVersion = '' } = secret.metadata;
        await store.patch(SECRETS, key, { data }, { ...write, resourceVersion });
      }
      return created;
    } catch (error) {
      // Another replica created it first: its identity is used.
      const isLate =
        error instanceof StoreError && ['already-exists', 'conflict'].includes(error.code);
      if (!isLate) throw error;
    }
  }
}

/** A bundle of certificates has no more: each is looked at for each connection. */
const MOST_CERTIFICATES = 4;

/** Certificates of a bundle, in its order, but those that are over or can't be read. */
function certificatesIn(caBundle: string | undefined, now: number): readonly string[] {
  const found = fromBase64(caBundle ?? '').match(
    /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g,
  );
  return (found ?? [])
    .map((text) => (text.endsWith('\n') ? text : `${text}\n`))
    .filter((text) => {
      try {
        return new X509Certificate(text).validToDate.getTime() > now;
      } catch {
        return false;
      }
    });
}

/**
 * Tells the API server which certificate to expect where these definitions convert: this one and, unless it `isAlone`, those that it
 * expected until now, which replicas may still show.
 */
export async function publishAuthority(
  store: Pick<Store, 'get' | 'patch'>,
  definitions: readonly string[],
  {
    certificate,
    isAlone,
    now,
  }: { readonly certificate: string; readonly isAlone: boolean; readonly now: number },
  signal: AbortSignal,
): Promise<void> {
  for (const name of definitions)
    for (let attempt = 1; ; attempt += 1) {
      const definition = await store.get(DEFINITIONS, name, signal);
      const client = definition?.spec.conversion?.webhook?.clientConfig;
      // Not installed, or installed without conversion: nothing to publish.
      if (definition === undefined || client === undefined) break;
      const known = certificatesIn(client.caBundle, now);
      const trusted = isAlone
        ? [certificate]
        : known.includes(certificate)
          ? known
          : [certificate, ...known].slice(0, MOST_CERTIFICATES);
      const caBundle = base64(trusted.join(''));
      if (client.caBundle === caBundle) break;
      const patch = { spec: { conversion: { webhook: { clientConfig: { caBundle } } } } };
      const { resourceVersion = '' } = definition.metadata;
      try {
        await store.patch(DEFINITIONS, name, patch, {
          fieldManager: FIELD_MANAGER,
          resourceVersion,
          signal,
        });
        break;
      } catch (error) {
        if (!isRetryable(error) || attempt === 5) throw error;
      }
    }
}
