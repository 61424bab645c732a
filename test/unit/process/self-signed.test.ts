import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { namesHost, selfSigned } from '../../../src/process/self-signed.ts';

test.each([
  ['10.96.0.7', 'IP Address:10.96.0.7'],
  ['fd00:10:96::7', 'IP Address:FD00:10:96:0:0:0:0:7'],
  ['heddle.heddle.svc', 'DNS:heddle.heddle.svc'],
])('a certificate for %s names it as what it is, and is found to', async (host, name) => {
  const { certificate } = await selfSigned('test', host, 2);
  const parsed = new X509Certificate(certificate);
  expect(parsed.subjectAltName).toBe(name);
  expect(namesHost(parsed, host)).toBe(true);
  expect(namesHost(parsed, 'fd00:10:96::8')).toBe(false);
  expect(namesHost(parsed, 'elsewhere.heddle.svc')).toBe(false);
});
