// The bodies of the control plane, from the description that wh gives of itself (GET /openapi.json).
// Written by scripts/generate.mjs; do not edit.

/** One acknowledgement. */
export interface Acknowledgement {
  /** Whose message it is about. */
  from: string;
  /** Its id. */
  id: string;
  /** Since when. */
  requestedAt: string;
  /** `pending`, `granted` or `denied`. */
  status: "pending" | "granted" | "denied";
  /** Who must acknowledge. */
  to: string;
}

/** What waits for an acknowledgement. */
export interface Acknowledgements {
  /** Ids that wait for this participant. */
  myPending: Array<string>;
  /** From others. */
  pending: Array<Acknowledgement>;
}

/** One open stream. */
export interface ActiveStream {
  /** When its last frame came. */
  lastActivityAt: string;
  /** When. */
  openedAt: string;
  /** Who asked for it. */
  openedBy: string;
  /** Its id. */
  streamId: string;
}

/** An agent that could take part, or does. */
export interface AgentBody {
  /** As whom or by what, where that is known. */
  account: string | null;
  /** What it can do. */
  capabilities: AgentCapabilities;
  /** What to do in order to use it; null when nothing is missing, as far as is known. */
  hint: string | null;
  /** What it is chosen by, and its name as a participant. */
  id: string;
  /** Whether it is there. */
  installed: boolean;
  /** Whether somebody is logged in: `yes`, `no`, `not_needed` or `unknown`. */
  logged_in: string;
  /** Whether it takes part in this space now. */
  taking_part: boolean;
  /** Its name for people. */
  title: string;
  /** Which version, if it says. */
  version: string | null;
}

/** What an agent can do, as far as that is known without starting one; null where only the running one tells. */
export interface AgentCapabilities {
  /** It lists its MCP servers. */
  mcp: boolean | null;
  /** It switches them on and off by a command. */
  mcp_switching: boolean | null;
  /** Its model can be chosen. */
  model_selection: boolean | null;
  /** It works in several modes. */
  modes: boolean | null;
  /** It goes on with a conversation that it keeps. */
  resume: boolean | null;
  /** It lists the conversations that it keeps. */
  session_listing: boolean | null;
  /** It has a mode that skips permissions, for `--allow-skipping-permissions`. */
  skips_permissions: boolean | null;
  /** What it says comes while it is said. */
  streaming: boolean | null;
  /** It shows what it thinks. */
  thinking: boolean | null;
}

/** A conversation that an agent keeps. */
export interface AgentConversation {
  /** Where it was held. */
  directory: string | null;
  /** Its id, for `POST /agents/{id}/start`. It is wh's: what the agent calls it stays inside. */
  id: string;
  /** What it is about, in a line. */
  title: string;
  /** When something was last said in it. */
  updated_at: string | null;
}

/** `GET /agents/{id}/sessions`. */
export interface AgentConversationsBody {
  /** The conversations that it keeps of the space's directory, the newest first. */
  sessions: Array<AgentConversation>;
}

/** What a login came to, so far. */
export interface AgentLoginBody {
  /** As whom or by what. */
  account: string | null;
  /** What that is. */
  instructions: string | null;
  /** What the agent said, or what was done. */
  message: string | null;
  /** `browser`, `api_key`, `env_var` or `terminal`. */
  method: string | null;
  /** It goes on; its end is told in the space. */
  pending: boolean;
  /** Something is left to the person. */
  requires_manual_action: boolean;
  /** Somebody is logged in. */
  success: boolean;
}

/** `POST /agents/{id}/login`; no body begins a login. */
export interface AgentLoginRequest {
  /** Stop the login that is under way. */
  cancel?: boolean;
  /** What a login that is under way asks for, as the code that a web page showed. */
  code?: string | null;
}

/** What a logout came to. */
export interface AgentLogoutBody {
  /** In a sentence or two. */
  message: string;
  /** Its own login is gone. */
  success: boolean;
  /** Whether the agent has a logout at all. */
  supported: boolean;
}

/** `GET /agents/{id}/mcp`. */
export interface AgentMcpBody {
  /** Its MCP servers. */
  servers: Array<AgentMcpServer>;
}

/** An MCP server of an agent. */
export interface AgentMcpServer {
  /** Its name. */
  name: string;
  /** Why. */
  reason: string | null;
  /** How it is, in the agent's words. */
  status: string;
}

/** A model that an agent offers. */
export interface AgentModel {
  /** What it is chosen by. */
  id: string;
  /** It was chosen last. */
  is_current: boolean;
  /** It is used when nothing is said. */
  is_default: boolean;
  /** Its name for people. */
  name: string;
}

/** `GET /agents/{id}/models`. */
export interface AgentModelsBody {
  /** The models that it offers. */
  models: Array<AgentModel>;
}

/** An agent that takes part. */
export interface AgentRunning {
  /** The mode in use, where it is known. */
  mode: string | null;
  /** The model in use, where it is known. */
  model: string | null;
  /** The conversation that it is in, as `GET /agents/{id}/sessions` calls it; null while there is none to go on with. */
  session: string | null;
  /** Its turns in this space. */
  turns: number;
}

/** How an agent's session fares. */
export interface AgentSession {
  /** What says so: `protocol`, `transcript`, `hook`, `screen` or `process`. */
  evidence: string;
  /** Its turn that ended last. */
  lastTurn: TurnBody | null;
  /** The mode in use. */
  mode: string | null;
  /** The model in use. */
  model: string | null;
  /** The question that it waits for. */
  question: string | null;
  /** Why it is gone. */
  reason: string | null;
  /** Since when. */
  since: string;
  /** `starting`, `idle`, `working`, `waiting`, `paused`, `gone` or `unknown`. */
  status: string;
  /** The turn that is under way. */
  turn: string | null;
  /** What it has cost so far, once it has said. */
  usage: AgentUsage | null;
}

/** `POST /agents/{id}/start`; no body begins a new conversation. */
export interface AgentStartRequest {
  /**
   * The conversation that it goes on with, by its id of `GET /agents/{id}/sessions`. One that takes part already is
   * ended first.
   */
  session?: string | null;
}

/** An agent takes part. */
export interface AgentStartedBody {
  /** Always true. */
  ok: boolean;
  /** Its name as a participant. */
  participant: string;
}

/** `GET /agents/{id}`. */
export interface AgentStatusBody {
  /** What else it says of itself. */
  about: Record<string, string>;
  /** The agent. */
  agent: AgentBody;
  /** Its MCP servers; null where they are not known. */
  mcp: Array<AgentMcpServer> | null;
  /** Why they are not known. */
  mcp_problem: string | null;
  /** How the one is that takes part; null where none does. */
  running: AgentRunning | null;
}

/** What an agent has cost so far. */
export interface AgentUsage {
  /** How many fit. */
  contextLimit: number | null;
  /** Tokens in its context. */
  contextTokens: number | null;
  /** In dollars, where it says. */
  cost: number | null;
  /** Tokens read. */
  inputTokens: number;
  /** Tokens written. */
  outputTokens: number;
}

/** `GET /agents`. */
export interface AgentsBody {
  /** The agents that there are, installed or not, in the order in which to offer them. */
  agents: Array<AgentBody>;
}

/** `POST /control/answer`. */
export interface AnswerRequest {
  /** The question's id. */
  id: string;
  /** The id of the option chosen. */
  option?: string | null;
  /** The caller's name for this command: the same name is carried out once. */
  request_id?: string | null;
  /** Words of one's own: the answer itself, or a reason. */
  text?: string | null;
}

/** One cell. What is at its default is left out. */
export interface CellBody {
  /** `bold`, `dim`, `italic`, `inverse`, `hidden`, `strikethrough`. */
  attributes?: Array<string>;
  /** Background, likewise. */
  bg?: string;
  /** Foreground: `#rrggbb`, or the palette's index as a string. */
  fg?: string;
  /** Where the cell links to. */
  hyperlink?: string;
  /** The character with its combining marks; empty in the second half of a wide one. */
  text: string;
  /** `single`, `double`, `curly`, `dotted` or `dashed`. */
  underline?: "single" | "double" | "curly" | "dotted" | "dashed";
  /** The underline's own colour. */
  underline_color?: string;
  /** Columns: 1, 2, or 0 in the second half of a wide character. */
  width: number;
}

/** Whom the next chat goes to, and why. */
export interface ChatTargets {
  /** What holds. */
  effective: Array<string> | null;
  /** The space's default. */
  globalDefault: Array<string> | null;
  /** Chosen for now. */
  override: Array<string> | null;
  /** The participant's default. */
  participantDefault: Array<string> | null;
}

/** The whole state. The default is that of a client that knows nothing yet. */
export interface ClientState {
  /** What waits for an acknowledgement. */
  acknowledgements: Acknowledgements;
  /** Whom the next chat goes to. */
  chatTargets: ChatTargets;
  /** The conversation as envelopes. */
  messages: Array<Message>;
  /** What each participant said of itself. */
  participantStatuses: Record<string, ParticipantStatus>;
  /** Who takes part. */
  participants: Array<string>;
  /** Whether the space is paused. */
  pauseState: PauseState | null;
  /** The session under control. */
  session?: SessionFacts;
  /** The agents' sessions, by participant. Absent where there is no conversation. */
  sessions?: Record<string, AgentSession>;
  /** Open streams and their last frames. */
  streams: Streams;
  /** Its terminal. */
  terminal?: TerminalFacts;
  /** What each participant can do. */
  toolCatalog: Record<string, Array<Tool>>;
  /** What the terminal UI shows. */
  ui: Ui;
}

/** `POST /control/command`. */
export interface CommandRequest {
  /** A slash command, as it would be typed. */
  command: string;
  /** The caller's name for this command: the same name is carried out once. */
  request_id?: string | null;
}

/** Where the cursor is and how it looks. */
export interface CursorBody {
  /** Whether it blinks. */
  blinking: boolean;
  /** `block`, `underline` or `beam`. */
  style: "block" | "underline" | "beam";
  /** Whether it is shown. */
  visible: boolean;
  /** Column. */
  x: number;
  /** Row. */
  y: number;
}

/** A part of what a question is about. */
export type DetailBody = {
  /** The words. */
  text: string;
  type: "text";
} | {
  /** The command. */
  command: string;
  type: "command";
} | {
  /** Its path. */
  path: string;
  type: "path";
} | {
  /** What it would hold. */
  new: string;
  /** What it holds; null if it is new. */
  old: string | null;
  /** Its path. */
  path: string;
  type: "diff";
} | {
  /** Its input. */
  input: unknown;
  /** The tool. */
  tool: string;
  type: "input";
};

/** What a command to the space answers. */
export interface DoneBody {
  /** The id was seen before: nothing was done, and the receipt is that of the first. */
  duplicate: boolean;
  /** What it says, for people. */
  lines: Array<string>;
  /** Always true. */
  ok: boolean;
  /** What became of it so far; null for a command that is for the UI alone. */
  receipt: ReceiptBody | null;
}

/** Every error answer. */
export interface ErrorBody {
  /** A stable code for programs: `request_id_reused`, for example. */
  code?: string;
  /** The value that was wrong and what to do. */
  detail?: string;
  /** What was wrong, in a few stable words. */
  error: string;
  /** Where in a condition the error is, counted in characters from 0. */
  position?: number;
}

/** How a program ended. */
export interface ExitBody {
  /** As a shell shows it: 128+n for signal n. */
  code: number;
  /** The signal's number, if one ended it. */
  signal: number | null;
}

/** Extent of a text that is not shown whole. */
export interface ExtentBody {
  /** Bytes that are here. */
  shown: number;
  /** Bytes that there are, or were. */
  whole: number;
}

/** A screen in a stream. */
export interface FrameBody {
  /** The cursor. */
  cursor: CursorBody;
  /** Frames since the start. */
  frames_rendered: number;
  /** The fingerprint, as of `/control/screen`. */
  hash: string;
  /** Rows. */
  height: number;
  /** The text, if that was asked for. */
  plain?: string;
  /** The drawing, if that was asked for. */
  raw?: string;
  /** Columns. */
  width: number;
}

/** `GET /control/health`. */
export interface HealthBody {
  /** Always true: an engine that cannot answer does not answer. */
  ok: boolean;
  /** Whole seconds since the engine started. */
  uptime: number;
  /** The version of wh. */
  version: string;
}

/** One entry of `GET /history`. */
export interface HistoryEntry {
  /** With `?details=1`: when. */
  at?: string;
  /** Present if the text is not shown whole; `GET /control/items/{id}/output` has the rest. */
  extent?: ExtentBody;
  /** With `?details=1`: who said it. */
  from?: string;
  /** With `?details=1`: its id, the same as in `/control/messages`. */
  id?: string;
  /** `user` or `model`. */
  role: string;
  /** What was said. */
  text: string;
  /** With `?details=1`: the turns that a message started, and the turn that an answer belongs to. */
  turns?: Array<string>;
}

/** `POST /control/interrupt`. */
export interface InterruptRequest {
  /** Whom; whoever works when absent. */
  participant?: string | null;
  /** The caller's name for this command: the same name is carried out once. */
  request_id?: string | null;
}

/** `POST /control/mark`. */
export interface MarkBody {
  /** The name of this moment; may be empty. */
  label: string;
  /** Makes a retry safe: 1 to 128 printable characters without blanks. */
  request_id?: string | null;
}

/** One envelope. */
export interface Message {
  /** The `reasoning/start` that it is a part of. */
  context?: string;
  /** The envelopes that it answers or is about. */
  correlation_id?: Array<string>;
  /** Its sender. */
  from: string | null;
  /** Its id. */
  id: string;
  /** Its kind: `chat`, `mcp/request`, …. */
  kind: string;
  /** What it says. */
  payload: unknown;
  /** The protocol of the envelope: `mew/v0.4`. */
  protocol: string;
  /** When it was added to the list: later than all before it. */
  receivedAt: string;
  /** Whether this client sent it. */
  sent: boolean;
  /** Its addressees; null is everybody. */
  to: Array<string> | null;
  /** When it was sent. In a local conversation the same as `receivedAt`. */
  ts: string;
}

/** What a message answers. */
export interface MessageBody {
  /** Why it failed, as a code. */
  code?: string;
  /** The id was seen before: nothing was said again. */
  duplicate: boolean;
  /** Lines that a slash command came to. */
  lines?: Array<string>;
  /** Why it failed, in words: of a retry whose first message failed. */
  reason?: string;
  /** The name by which `/control/receipts/{request_id}` tells what became of it. */
  request_id: string;
  /** How far it is. */
  stage: string;
  /** Always `Message submitted`. */
  status: string;
  /** The turn that it started, if somebody takes it up. */
  turn: string | null;
}

/** `POST /message`. */
export interface MessageRequest {
  /** Allow a text that begins with `!`, by which an agent may run a shell command. */
  allow_shell?: boolean;
  /**
   * Pass the text to the model as it is: no slash command, no envelope. Refused (409, `not_literal`) where the agent would
   * interpret its first character itself.
   */
  literal?: boolean;
  /** What to say. */
  message: string;
  /** The caller's name for this message: the same name is said once. */
  request_id?: string | null;
  /** To whom; the chat's targets when absent. */
  to?: Array<string> | null;
}

/** `GET /control/messages`. */
export interface MessagesBody {
  /** Those returned. */
  filtered: number;
  /** Those that passed the filters, the newest `limit` of them, oldest first. */
  messages: Array<Message>;
  /** All messages of the conversation. */
  total: number;
}

/** The terminal's switches. */
export interface ModesBody {
  /** Cursor keys send application codes. */
  application_cursor: boolean;
  /** The keypad sends application codes. */
  application_keypad: boolean;
  /** Pastes are bracketed. */
  bracketed_paste: boolean;
  /** Focus changes are reported. */
  focus_events: boolean;
  /** Flags of the kitty keyboard protocol. */
  kitty_keyboard: number;
  /** xterm's modifyOtherKeys level. */
  modify_other_keys: number;
  /** `off`, `click`, `drag` or `motion`. */
  mouse: "off" | "click" | "drag" | "motion";
  /** `legacy`, `utf8` or `sgr`. */
  mouse_encoding: "legacy" | "utf8" | "sgr";
}

/** One mouse event, at a cell counted from the top left, from 0. */
export interface MouseBody {
  /** `press`, `release`, `move`, `wheel_up`, `wheel_down`, `wheel_left` or `wheel_right`. */
  action: "press" | "release" | "move" | "wheel_up" | "wheel_down" | "wheel_left" | "wheel_right";
  /** `left`, `middle` or `right`; `left` when absent, none for a move. */
  button?: "left" | "middle" | "right" | null;
  /** `ctrl`, `alt`, `shift` held down meanwhile. */
  modifiers?: Array<string>;
  /** Column. */
  x: number;
  /** Row. */
  y: number;
}

/** An answer to choose. */
export interface OptionBody {
  /** Its id: what to answer with. */
  id: string;
  /** `allow_once`, `allow_always`, `reject_once`, `reject_always` or `other`. */
  kind: string;
  /** What it says. */
  label: string;
}

/** `GET /control/items/{id}/output`. */
export interface OutputBody {
  /** The item's id. */
  item: string;
  /** Where the next part begins; null at the end. */
  next: number | null;
  /** Where this part begins, in bytes of UTF-8. */
  offset: number;
  /** Bytes that the item itself shows. */
  shown: number;
  /** This part: what was said or thought, or what a tool gave; a change to a file as a patch. */
  text: string;
  /** Bytes that there are in all. */
  whole: number;
}

/** What a participant said of itself. */
export interface ParticipantStatus {
  /** When. */
  lastUpdated: string | null;
  /** A word. */
  status: string;
  /** A sentence. */
  summary: string | null;
}

/** A pause of the space. */
export interface PauseState {
  /** Whether it holds. */
  active: boolean;
  /** Until when. */
  expiresAt: string | null;
  /** Why. */
  reason: string | null;
  /** Who asked for it. */
  requestedBy: string | null;
}

/** What waits for the person's answer. */
export interface PendingOperation {
  /** When. */
  createdAt: string;
  /** Its id. */
  id: string;
  /** Its kind. */
  kind: string;
  /** Who asked. */
  requestedBy: string;
}

/** Something that waits for an answer. */
export interface QuestionBody {
  /** Whether words of one's own are an answer too. */
  accepts_text: boolean;
  /** Since when. */
  asked_at: string;
  /** What it is about. */
  details: Array<DetailBody>;
  /** Who asks. */
  from: string;
  /** Its id: what to answer by. */
  id: string;
  /** `permission`, `choice`, `text`, or `secret` for words that are neither shown nor kept. */
  kind: string;
  /** The answers to choose from. */
  options: Array<OptionBody>;
  /** Whether an answer may be chosen to begin with; not where a hasty Enter could do harm. */
  preselects: boolean;
  /** What is asked, in one line. */
  title: string;
  /** The turn that waits. */
  turn: string | null;
}

/** `GET /control/questions`. */
export interface QuestionsBody {
  /** What waits for an answer, oldest first. */
  questions: Array<QuestionBody>;
}

/** One stage of a receipt. */
export interface ReachedBody {
  /** When. */
  at: string;
  /** The stage. */
  stage: string;
}

/** The reasoning bar. */
export interface Reasoning {
  /** Whether somebody reasons now. */
  active: boolean;
  /** For how long. */
  elapsedMs: number;
  /** Who. */
  participant: string | null;
  /** What about. */
  preview: string | null;
  /** At what cost. */
  tokens: number | null;
}

/** What became of one command. */
export interface ReceiptBody {
  /** Why it failed, as a code for programs: `cancelled`, `cut_off`, `interrupted`, `ended`, `failed` or another reason. */
  code?: string;
  /** The message that it became. */
  message: string | null;
  /** When it came how far. */
  reached: Array<ReachedBody>;
  /** Why it failed, in words. */
  reason: string | null;
  /** The caller's id, or ours where the caller had none. */
  request_id: string;
  /** `accepted`, `delivered`, `submitted`, `started`, `finished` or `failed`. */
  stage: string;
  /** The turn that it started. */
  turn: string | null;
  /** Restriction under which the agent works on it: it may not know the whole conversation. */
  warning: string | null;
}

/** `POST /control/resize`. */
export interface ResizeBody {
  /** Rows. */
  height: number;
  /** Makes a retry safe: 1 to 128 printable characters without blanks. */
  request_id?: string | null;
  /** Columns. */
  width: number;
}

/** The screen that a person would see now. */
export interface ScreenBody {
  /** Whether the alternate screen is shown. */
  alternate_screen: boolean;
  /** With `?format=cells`: every cell of every row. */
  cells?: Array<Array<CellBody>>;
  /** The cursor, from the top left, from 0. */
  cursor: CursorBody;
  /** Frames since the start. */
  frames_rendered: number;
  /** A fingerprint of what is shown: the same screen has the same hash, in every run. */
  hash: string;
  /** Rows. */
  height: number;
  /** When the last frame was complete; before the first, when the blank screen came to be. */
  last_frame: string;
  /** The text, a line a row, padded to the width. */
  lines: Array<string>;
  /** What the program has switched on. */
  modes: ModesBody;
  /** The text, a line a row, without trailing blanks. */
  plain: string;
  /** The frame with its colours and attributes: written to a blank terminal of the same size, it draws the same frame. */
  raw: string;
  /** The retained raw output. */
  scrollback: ScrollbackBody;
  /** The window title that the program set. */
  title: string | null;
  /** Columns. */
  width: number;
}

/** The retained raw output: the program's own bytes. */
export interface ScrollbackBody {
  /** Characters retained. */
  buffer_size: number;
  /** With `?history=1`: the output itself. */
  raw?: string;
  /** Whether older ones were dropped. */
  truncated: boolean;
}

/** `POST /control/send_input`: at least one of `text`, `paste`, `key`, `keys`, `mouse`, sent in that order as one command. */
export interface SendInputBody {
  /** One key by name. */
  key?: string | null;
  /** Several keys by name. */
  keys?: Array<string> | null;
  /** One mouse event. */
  mouse?: MouseBody | null;
  /** Pasted: in brackets if the program asked for that. */
  paste?: string | null;
  /** Makes a retry safe: 1 to 128 printable characters without blanks. */
  request_id?: string | null;
  /** Typed as it is, byte for byte. */
  text?: string | null;
}

/** What a command that was carried out answers. */
export interface SentBody {
  /** Whether the terminal has taken every byte. False: they wait, in order, for a program that does not read. */
  delivered: boolean;
  /** The id was seen before: nothing was sent, and `delivered` is how it stands now. */
  duplicate: boolean;
  /** What was injected, as it was named in the request. */
  injected?: string;
  /** Always true. */
  ok: boolean;
  /** The caller's id, if it gave one. */
  request_id?: string;
}

/** The session under control. */
export interface SessionFacts {
  /** What runs. */
  command: Array<string>;
  /** What says so: `process`. */
  evidence: string;
  /** How it ended. */
  exit: ExitBody | null;
  /** wh's own id for it. */
  id: string;
  /** Waits that are open now. */
  openWaits: number;
  /** The program's process id. */
  pid: number | null;
  /** Bytes that the program has not taken yet. */
  queuedInput: number;
  /** Since when. */
  since: string;
  /** `running`, `stopped` or `exited`. */
  status: "running" | "stopped" | "exited";
}

/** The signal board. */
export interface SignalBoard {
  /** Acknowledgements shown. */
  ackCount: number;
  /** Whether it is open. */
  expanded: boolean;
  /** `open`, `close` or `auto` if the person chose. */
  override: "open" | "close" | "auto" | null;
  /** The pause shown. */
  pauseState: SignalPause | null;
  /** Statuses shown. */
  statusCount: number;
}

/** `POST /control/signal`. */
export interface SignalBody {
  /** Makes a retry safe: 1 to 128 printable characters without blanks. */
  request_id?: string | null;
  /** `INT`, `TERM`, …; with or without `SIG`. */
  signal: string;
  /** `program` (the process group that wh started; the default) or `foreground` (the terminal's foreground group). */
  target?: "program" | "foreground" | null;
}

/** A pause as the board shows it. */
export interface SignalPause {
  /** Who is paused. */
  participant: string;
  /** Why. */
  reason: string | null;
}

/** One message to somebody who watches. */
export type StreamBody = {
  /** The run that the numbers are of. */
  epoch: string;
  /** The screen, if frames were asked for. */
  screen?: FrameBody;
  /** The number of the last event that the snapshot contains. */
  seq: number;
  /** The state. */
  state: ClientState;
  type: "snapshot";
} | ({
  /** What runs. */
  command: Array<string>;
  event: "started";
  /** Its process id. */
  pid: number;
} | {
  /** How many bytes. */
  bytes: number;
  event: "typed";
} | {
  event: "resized";
  /** Rows. */
  height: number;
  /** Columns. */
  width: number;
} | {
  event: "title";
  /** The title. */
  title: string | null;
} | {
  /** So many times at once. */
  count: number;
  event: "bell";
} | {
  /** As it wrote it. */
  directory: string;
  event: "directory";
} | {
  event: "notification";
  /** Of this. */
  text: string;
} | {
  event: "progress";
  /** As it wrote it. */
  progress: string;
} | {
  event: "shell_mark";
  /** `A` prompt, `B` input, `C` output, `D;code` done. */
  mark: string;
} | {
  event: "marked";
  /** By this name. */
  label: string;
} | {
  event: "attached";
} | {
  event: "detached";
} | {
  event: "stopped";
} | {
  event: "continued";
} | {
  event: "item";
  /** Its id. */
  item: string;
  /** It as envelopes, in the place of those of the same ids. */
  messages: Array<Message>;
  /** `growing`, `done`, `cut` or `retracted`. */
  progress: string;
  /** Its turn. */
  turn: string | null;
} | {
  event: "turn_started";
  /** The message that it is about. */
  message: string;
  /** Whose. */
  participant: string;
  /** Which. */
  turn: string;
} | TurnBody & {
  event: "turn_ended";
} | {
  event: "session";
  /** Whose. */
  participant: string;
  /** How it fares. */
  session: AgentSession;
} | ReceiptBody & {
  event: "receipt";
} | {
  event: "changed";
  /** Which, by its name in the state. */
  part: string;
} | {
  /** As a shell shows it. */
  code: number;
  event: "exited";
  /** The signal, if one ended it. */
  signal: number | null;
}) & {
  /** When. */
  at: string;
  /** The run that the number is of. */
  epoch: string;
  /** Its number. */
  seq: number;
  type: "event";
} | FrameBody & {
  type: "frame";
} | {
  /** The run. */
  epoch: string;
  /** The number of the last event. */
  seq: number;
  type: "heartbeat";
} | {
  /** Why. */
  reason: string;
  type: "reset";
} | {
  /** Why. */
  reason: string;
  type: "dropped";
};

/** One frame of a stream. */
export interface StreamFrame {
  /** What it carries. */
  payload: unknown;
  /** Its stream. */
  streamId: string;
  /** When it came. */
  timestamp: string;
}

/** Open streams and their last frames. */
export interface Streams {
  /** The open ones. */
  active: Array<ActiveStream>;
  /** The last frames of all, oldest first. */
  recentFrames: Array<StreamFrame>;
}

/** The session's terminal. */
export interface TerminalFacts {
  /** Whether the alternate screen is shown. */
  alternateScreen: boolean;
  /** Whether a person's terminal is attached. */
  attached: boolean;
  /** Bells so far. */
  bells: number;
  /** Where the shell says it is (OSC 7). */
  directory: string | null;
  /** Frames so far. */
  framesRendered: number;
  /** Rows. */
  height: number;
  /** The last notification (OSC 9, OSC 777). */
  notification: string | null;
  /** Bytes that the program has written so far. */
  outputBytes: number;
  /** The last progress report (OSC 9;4), as the program wrote it. */
  progress: string | null;
  /** The last shell integration mark (OSC 133): `A` prompt, `B` input, `C` output, `D;code` done. */
  shellMark: string | null;
  /** The window title. */
  title: string | null;
  /** Columns. */
  width: number;
}

/** Something that a participant can do. */
export interface Tool {
  /** What it does. */
  description: string | null;
  /** Its name for people. */
  displayName: string | null;
  /** What it takes. */
  inputSchema: unknown;
  /** Its name. */
  name: string;
}

/** A turn that is over. */
export interface TurnBody {
  /** How long it took, in milliseconds. */
  duration_ms: number;
  /** The model that was in use at its end, where that is known. */
  model: string | null;
  /** `completed`, `cancelled` or `failed`. */
  outcome: string;
  /** Why it failed. */
  reason: string | null;
  /** Tools that were called in it. */
  tool_calls: number;
  /** Which. */
  turn: string;
}

/** What the terminal UI shows. */
export interface Ui {
  /** What waits for the person's answer. */
  pendingOperation: PendingOperation | null;
  /** The reasoning bar. */
  reasoning: Reasoning;
  /** Whether stream frames are shown. */
  showStreams: boolean;
  /** The signal board. */
  signalBoard: SignalBoard;
  /** Columns. */
  terminalWidth: number | null;
  /** Whether details are shown. */
  verboseMode: boolean;
}

/** How a wait ended: matched (200), timed out (408), or the program ended first (409). */
export interface WaitBody {
  /** The same in words. */
  detail?: string;
  /** Milliseconds waited. */
  elapsed: number;
  /** `timeout` or `exited` when not matched. */
  error?: "timeout" | "exited";
  /** Whether the condition held. */
  matched: boolean;
  /** The same as `matched`. */
  ok: boolean;
  /** The screen's last lines that are not blank, when not matched. */
  screen?: Array<string>;
}

/** `POST /control/wait`. */
export interface WaitRequest {
  /**
   * What to wait for: `screen_contains "text"`, `screen_stable 300`, `exited`, `idle`, `question` and others, joined by
   * `and`, `or`, `not`.
   */
  condition: string;
  /** Milliseconds; 5000 when absent. */
  timeout?: number | null;
}
