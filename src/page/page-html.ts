/** A page as one HTML file, which asks nobody for anything but, where it is served, whether there is a newer one. Names in it are others' text: they are data, and never markup. Pure. */
import { createHash } from 'node:crypto';
import { visibleLines } from '../api/visible-text.ts';
import type { PageData } from './page-data.ts';

/** What the browser runs and how it looks. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

/** Element of the document that holds its data. */
const DATA_ELEMENT = 'data';

const hashOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Nothing is loaded, sent or framed, and nothing runs but this script: pictures alone may be `data:`. One that is served may ask its server. */
const policyOf = ({ script, style }: PageAssets, isServed: boolean): string =>
  [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    ...(isServed ? ["connect-src 'self'"] : []),
  ].join('; ');

/** JSON in which no string ends the element that it is in, or turns round or hides what is shown of it. */
export const embeddedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'string' ? visibleLines(member) : member,
  ).replaceAll('<', '\\u003c');

/** Throws for a script or style that would end its element. `isServed`: by `heddle ui`, and no file. */
export function pageHtml(data: PageData, assets: PageAssets, isServed = false): string {
  for (const name of ['script', 'style'] as const)
    if (/<\/(?:script|style)|<!--/i.test(assets[name]))
      throw new Error(`the ${name} of the page would end its element`);
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policyOf(assets, isServed)}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    '<meta name="color-scheme" content="light dark">',
    '<title>Heddle</title>',
    `<style>${assets.style}</style>`,
    '</head>',
    '<body>',
    '<noscript>This page draws itself from the data that is in it, which needs JavaScript. It loads and sends nothing.</noscript>',
    `<script type="application/json" id="${DATA_ELEMENT}">${embeddedJson(data)}</script>`,
    `<script>${assets.script}</script>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');
}
