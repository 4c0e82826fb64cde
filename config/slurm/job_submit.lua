-- SPDX-License-Identifier: Apache-2.0
-- JobSubmitPlugins=lua: jobs that ask for Salus wait for salus-placer. See docs/slurm.md.
--
-- What such a job asks is written down where users cannot write (AdminComment), and its begin time
-- is put off. The placer chooses its node and lets it begin. Where the placer does not come the job
-- begins WAIT seconds later, where Slurm itself puts it; with WAIT = 0 it waits until one comes.

local GRES = "salus"
local WAIT = 300
local YEAR = 366 * 86400

-- Where sbatch's plugin writes anybody can write: of that text nothing is taken over but these words.
local WORDS = { "class", "mem", "persistent", "slo", "util" }

local function words_of(text)
    local words = {}
    for _, key in ipairs(WORDS) do
        local value = string.match(" " .. text, " " .. key .. "=(%w+)")
        if value and #value <= 20 then table.insert(words, key .. "=" .. value) end
    end
    return table.concat(words, " ")
end

-- "class=be mem=...", from the plugin; nil: no option was given.
local function ask_of(desc)
    local count = desc.spank_job_env_size
    if not desc.spank_job_env or not count or count == slurm.NO_VAL then return nil end
    for i = 0, count - 1 do
        local text = string.match(desc.spank_job_env[i] or "", "^SALUS=(.*)$")
        if text then return words_of(text) end
    end
    return nil
end

local function is_one(value)
    return value == nil or value == 0 or value == 1 or value == slurm.NO_VAL or value == slurm.NO_VAL16
end

local function is_ours(desc)
    return string.find((desc.tres_per_node or "") .. ":", "gres:" .. GRES .. ":", 1, true)
end

-- What the placer understands of features: "a", "a&b", "a|b". Counts and brackets are Slurm's.
local function is_simple(features)
    if not features then return true end
    if string.find(features, "[%[%]()*!,]") then return false end
    return not (string.find(features, "&", 1, true) and string.find(features, "|", 1, true))
end

-- One node's job waits for the placer, and so does an array of such. Others (several nodes, nodes by name,
-- reservations, features of other kinds) Slurm places.
local function is_for_placer(desc)
    return is_one(desc.min_nodes) and not desc.req_nodes and not desc.reservation
        and is_simple(desc.features)
end

function slurm_job_submit(desc, partitions, uid)
    if desc.admin_comment then desc.admin_comment = "" end
    if not is_ours(desc) then return slurm.SUCCESS end
    local ask, now, begin = ask_of(desc) or "class=training", os.time(), desc.begin_time or 0
    if desc.script then desc.environment["SALUS_ASK"] = ask end -- for a node whose slurmctld does not answer
    if not is_for_placer(desc) then
        desc.admin_comment = "salus: " .. ask .. " free=1"
        return slurm.SUCCESS
    end
    if begin <= now or begin == slurm.NO_VAL then begin = 0 end
    desc.admin_comment = string.format("salus: %s begin=%d wait=%d", ask, begin, WAIT)
    desc.begin_time = math.max(now, begin) + (WAIT > 0 and WAIT or YEAR)
    return slurm.SUCCESS
end

function slurm_job_modify(desc, job, partitions, uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
